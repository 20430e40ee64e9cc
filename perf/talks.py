"""Conversations against a scripted server, killed with -9 at any moment: no turn may be lost, none that is kept asked twice.

    python perf/talks.py                50 kills of one run with tools and further turns, resumed after each
    python perf/talks.py --kills 200 --seed 3

The server streams: parallel calls of tools, calls of tools that do not exist, arguments that are not JSON, streams that
break off, models that call without end. Every answer has a number of its own, so that what was kept can be told from what
was asked again. An answer that was on its way when the process died was never here; those are counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loopback import BREAK, Loopback, Plan

Cell = tuple[int, int]  # number of the problem, and how often the model has spoken

THEN = "Are you sure?"
ENDLESS = 7  # every seventh model calls without end
MOST_TURNS = 6


class Script(Plan):
    """What the model says in each turn: calls, then an answer, then after a doubt once more."""

    def __init__(self, event_delay: float = 0.002) -> None:
        super().__init__(events=self._say, event_delay=event_delay)
        self.asked: list[Cell] = []
        self.broken: set[Cell] = set()
        self.numbers: Counter[Cell] = Counter()

    def _say(self, body: dict[str, Any]) -> Sequence[object]:
        said = body["messages"]
        number = int(re.search(r"What is (\d+)", said[0]["content"])[1])  # type: ignore[index]
        cell = (number, sum(message["role"] == "assistant" for message in said))
        self.asked.append(cell)
        if hash(cell) % 5 == 0 and cell not in self.broken:
            self.broken.add(cell)
            return [_piece({"content": "half an ans"}), BREAK]
        self.numbers[cell] += 1
        doubted = any(message.get("content") == THEN for message in said)
        return [*self._pieces(cell, doubted, bool(said[-1]["role"] == "tool")), "data: [DONE]\n\n"]

    def _pieces(self, cell: Cell, doubted: bool, answered: bool) -> list[object]:
        number, turn = cell
        mark = f"[{turn}.{self.numbers[cell]}]"
        if number % ENDLESS == ENDLESS - 1:
            return [*_calls(mark, ["print('again')"]), _end("tool_calls")]
        if turn == 0:
            return [*_calls(mark, [f"x = {number}", f"x + {number} + 7"]), _end("tool_calls")]
        if turn == 1:
            return [*_calls(mark, ["{not json", "x"], names=["python", "no_such_tool"]), _end("tool_calls")]
        if doubted and not answered:
            return [*_calls(mark, ["x"]), _end("tool_calls")]
        text = f"{mark} ANSWER: {2 * number + 7}"
        return [*(_piece({"content": letter}) for letter in text), _end("stop")]


def _calls(mark: str, codes: Sequence[str], names: Sequence[str] = ()) -> list[object]:
    events: list[object] = [_piece({"role": "assistant", "content": mark})]
    for place, code in enumerate(codes):
        arguments = code if code.startswith("{") else json.dumps({"code": code})
        function = {"name": names[place] if names else "python", "arguments": ""}
        events.append(_piece({"tool_calls": [{"index": place, "id": f"c{place}{mark}", "function": function}]}))
        events += [
            _piece({"tool_calls": [{"index": place, "function": {"arguments": arguments[at : at + 5]}}]})
            for at in range(0, len(arguments), 5)
        ]
    return events


def _piece(delta: dict[str, Any]) -> dict[str, Any]:
    return {"model": "scripted", "choices": [{"index": 0, "delta": delta}]}


def _end(reason: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


def kept(folder: Path) -> dict[Cell, str]:
    """What the model said in each turn that is on disk."""
    numbers = {}
    if (folder / "problems.jsonl").exists():
        for line in (folder / "problems.jsonl").read_text().splitlines():
            problem = json.loads(line)["problem"]
            numbers[problem["key"]] = int(re.search(r"What is (\d+)", problem["statement"])[1])  # type: ignore[index]
    found: dict[Cell, str] = {}
    turns: dict[str, list[dict[str, Any]]] = {}
    for line in _lines(folder / "turns.jsonl"):
        turns.setdefault(line["key"], []).append(line["turn"])
    for line in _lines(folder / "responses.jsonl"):
        if "error" not in line:
            turns[line["key"]] = line.get("turns", [{"role": "assistant", "text": line["text"]}])
    for key, said in turns.items():
        spoken = [turn.get("text", "") for turn in said if turn["role"] == "assistant"]
        found |= {(numbers[key], place): text for place, text in enumerate(spoken)}
    return found


def _lines(file: Path) -> list[dict[str, Any]]:
    content = file.read_bytes().splitlines() if file.exists() else []
    return [json.loads(line) for line in content if line.endswith(b"}")]


def kill_again_and_again(
    start: Any, folder: Path, script: Script, kills: int, chance: random.Random
) -> tuple[list[str], Counter[str]]:
    """Start, kill after a moment, start again …; returns what went wrong, and counts."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    before: dict[Cell, str] = {}
    for round_ in range(kills + 1):
        asked_before = len(script.asked)
        process = start()
        if round_ < kills:
            # Not before it has asked something: a process that is killed while it starts shows nothing.
            deadline = time.monotonic() + 60
            while process.poll() is None and len(script.asked) == asked_before and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.1)  # the server sees that nobody listens any more
        now = kept(folder)
        counts["kills"] += round_ < kills
        for cell in script.asked[asked_before:]:
            counts["asked"] += 1
            if cell in before:
                wrong.append(f"turn {cell[1]} of problem {cell[0]} was kept, and asked again after kill {round_}")
        wrong += [
            f"turn {cell[1]} of problem {cell[0]} is lost or another"
            for cell in before
            if now.get(cell) != before[cell]
        ]
        before = now
    counts["turns"] = len(before)
    counts["broken streams"] = len(script.broken)
    counts["on their way when it died"] = sum(script.numbers.values()) - len(before)
    return wrong, counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--problems", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, Loopback(script := Script()) as server:
        folder, data = Path(place) / "run", Path(place) / "sums.jsonl"
        rows = ({"question": f"What is {n} + {n + 7}?", "answer": str(2 * n + 7)} for n in range(args.problems))
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        command = [
            sys.executable,
            "-m",
            "markscheme",
            "run",
            str(data),
            "--model",
            "openai/m",
            "--base-url",
            server.url,
        ]
        command += ["--out", str(folder), "--protocol", "gsm8k-numeric", "--tools", "python", "--then", THEN]
        command += ["--max-turns", str(MOST_TURNS), "--concurrency", "4", "--retry-delay", "0.01", "--json"]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        wrong, counts = kill_again_and_again(start, folder, script, args.kills, random.Random(args.seed))
        report = json.loads((folder / "report.json").read_text()) if (folder / "report.json").exists() else {}
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    print(f"verdicts at the end: {report.get('verdicts')}, missing {report.get('missing')}")
    print("\n".join(wrong) or "no turn was lost, and none that was kept was asked twice")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
