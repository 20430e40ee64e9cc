"""Phrases that read as translated, counted in everything that people read: `make lint` runs this.

    python tests/support/plain_english.py            fails where a phrase is used more often than allowed
    python tests/support/plain_english.py --lower    writes today's counts as the new limits; it never raises one

CONTRIBUTING.md ("Plain English") says what to write instead. The limits in plain_english.json only go down.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMITS = Path(__file__).with_suffix(".json")
READ = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "src/**/*.py", "src/**/*.html", "src/**/*.toml")
PAIRS = "## Plain English"  # the section of CONTRIBUTING.md that quotes the phrases


def texts() -> dict[str, str]:
    """Everything that is checked, by path; of Python files all, since docstrings and messages are most of their words."""
    found = {}
    for pattern in READ:
        for file in sorted(ROOT.glob(pattern)):
            found[file.relative_to(ROOT).as_posix()] = file.read_text(encoding="utf-8", errors="replace")
    head, _, rest = found["CONTRIBUTING.md"].partition(PAIRS)
    found["CONTRIBUTING.md"] = head + rest.partition("\n## ")[2]
    return found


def count(phrases: list[str]) -> dict[str, list[str]]:
    """Where each phrase is used: `path:line`."""
    places: dict[str, list[str]] = {phrase: [] for phrase in phrases}
    patterns = {phrase: re.compile(rf"\b{re.escape(phrase)}\b") for phrase in phrases}
    for path, text in texts().items():
        for number, line in enumerate(text.splitlines(), 1):
            for phrase, pattern in patterns.items():
                places[phrase] += [f"{path}:{number}"] * len(pattern.findall(line))
    return places


def main(arguments: list[str]) -> int:
    limits: dict[str, int] = json.loads(LIMITS.read_text())
    places = count(list(limits))
    if arguments == ["--lower"]:
        lowered = {phrase: min(limit, len(places[phrase])) for phrase, limit in limits.items()}
        LIMITS.write_text(json.dumps(lowered, indent=2) + "\n")
        return 0
    over = {phrase: found for phrase, found in places.items() if len(found) > limits[phrase]}
    for phrase, found in over.items():
        shown = ", ".join(found[-5:])
        print(
            f"{phrase!r} is used {len(found)} times, {limits[phrase]} are allowed (such as {shown}); see CONTRIBUTING.md"
        )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
