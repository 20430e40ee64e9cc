"""ToRA's published transcripts through the text protocol: are the outputs of the tool the stored ones?

    python perf/tora.py FILE.jsonl… [--limit N]

The files are `src/outputs/llm-agents/*/*/*.jsonl` of github.com/microsoft/ToRA. Each transcript is a conversation that
`replay/` plays again with `--tools python --tool-format fenced --tool-state none`, which is how ToRA ran code: what the
model said is the stored text, and every block of code is really run. An output counts as equal to the letter; of an error,
which ToRA shows without its line, from the name of the error on.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

_OUTPUT = re.compile(r"\n```output\n(.*?)\n```\n", re.DOTALL)
_ENDING = re.compile(r"\n```output\n(.*?)\n```$", re.DOTALL)
_CHANCE = re.compile(r"\b(?:random|time|datetime|today|now)\b")
LONGEST = 400  # characters of an output that ToRA keeps, with `...` in the middle


def conversation(row: dict[str, Any], number: int) -> tuple[dict[str, Any], list[str]]:
    """A transcript as turns, and the outputs that it stores."""
    text = row["code"][0].split("Solution:", 1)[-1] if "Solution:" in row["code"][0] else row["code"][0]
    parts = _OUTPUT.split(f"{text}\n" if _ENDING.search(text) else text)
    said = [{"role": "assistant", "text": part} for part in parts[::2]]
    response = {"key": "", "question": asked(row, number), "text": parts[-1], "finish_reason": "stop", "turns": said}
    return {name: value for name, value in response.items() if name != "key"}, parts[1::2]


def asked(row: dict[str, Any], number: int) -> str:
    return f"{row['question']} [{number}]"  # data sets ask some questions twice


def shortened(text: str) -> str:
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}...{text[-half:]}"


def compare(stored: str, got: str, code: str) -> str:
    ours = re.sub(r"^```output\n|\n```\n$", "", got.strip("\n") + "\n").strip()
    if shortened(ours) == stored.strip():
        return "equal"
    error = re.search(r"(?:line \d+: )?(\w*(?:Error|Exception|Interrupt)\b.*)$", ours, re.DOTALL)
    if error and stored.strip().endswith(shortened(error[1]).strip()):
        return "the same error"
    if error and stored.split(":")[0] == error[1].split(":")[0]:
        return "the same kind of error, other words"
    if "imeout" in stored or "longer than" in ours:
        return "one of them timed out"
    return "other, by chance or clock" if _CHANCE.search(code) else "other"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    rows = [json.loads(line) for file in args.files for line in file.read_text().splitlines()][: args.limit]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder, outputs = Path(place), {}
        with (folder / "problems.jsonl").open("w") as problems, (folder / "stored.jsonl").open("w") as stored:
            for number, row in enumerate(rows):
                response, found = conversation(row, number)
                if found:
                    outputs[asked(row, number)] = found
                    problems.write(json.dumps({"question": asked(row, number), "answer": str(row["gt"])}) + "\n")
                    stored.write(json.dumps(response) + "\n")
        command = [sys.executable, "-m", "markscheme", "run", str(folder / "problems.jsonl"), "--protocol", "math"]
        command += ["--model", f"replay/{folder / 'stored.jsonl'}", "--tools", "python", "--tool-format", "fenced"]
        command += ["--tool-state", "none", "--tool-timeout", "20", "--out", str(folder / "run"), "--json"]
        report = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
        statements = {}
        for line in (folder / "run" / "problems.jsonl").read_text().splitlines():
            problem = json.loads(line)["problem"]
            statements[problem["key"]] = problem["statement"]
        for line in (folder / "run" / "responses.jsonl").read_text().splitlines():
            response = json.loads(line)
            turns, expected = response.get("turns", []), outputs[statements[response["key"]]]
            results = [(turns[at - 1], turn) for at, turn in enumerate(turns) if turn["role"] == "tool"]
            counts["outputs"] += len(expected)
            counts["not run again"] += len(expected) - min(len(results), len(expected))
            for theirs, (said, turn) in zip(expected, results, strict=False):
                kind = compare(theirs, turn["text"], said["tool_calls"][0]["arguments"])
                counts[kind] += 1
                if kind == "other":
                    print(json.dumps({"stored": theirs[:200], "now": turn["text"][:200]}))
    print(f"{len(outputs):,} transcripts with code; verdicts {report['verdicts']}, missing {report['missing']}")
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
