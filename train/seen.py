"""Writes down every puzzle that the training of `nano` draws, so that it can be asked others.

    python train/seen.py --exclude TEST.jsonl … -o seen.jsonl         (the files that the training was given)
    markscheme countdown generate --count 200 --numbers 3 --seed 11 --exclude seen.jsonl -o three.jsonl

It draws the same lessons from the same seeds as `nano.py`, by its own defaults, and teaches nobody.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from lessons import Batch, Lessons
from nano import TOKENS, arguments, excluded_puzzles

from markscheme.nano.tokenizer import decode


def batches(options: argparse.Namespace) -> Iterator[Batch]:
    """What `train` is given, in both stages."""
    excluded = excluded_puzzles(options.exclude)
    direct = Lessons(options.seed + 1, excluded, options.share_of_four)
    yield from (direct.direct(options.batch) for _ in range(options.steps))
    searches = Lessons(options.seed + 2, excluded, options.share_of_four)
    yield from (searches.searching(TOKENS) for _ in range(options.search_steps))


def main() -> None:
    """Read the command line and write the puzzles, one a line, each once."""
    options = arguments(__doc__ or "").parse_args()
    seen = set()
    for rows, _ in batches(options):
        for row in rows:
            numbers, _, rest = decode(row).partition(" > ")
            seen.add((tuple(sorted(map(int, numbers.split()))), int(rest.split()[0])))
    with options.out.open("w") as file:
        for nums, target in sorted(seen):
            print(json.dumps({"nums": nums, "target": target}), file=file)
    print(f"{len(seen):,} puzzles, {sum(len(nums) == 3 for nums, _ in seen):,} of them of three numbers")


if __name__ == "__main__":
    main()
