#!/usr/bin/env python3
"""`python3 evaluate.py --server-url …`: a model server on math500, aime-24 and aime-25, or any JSONL data sets."""

from markscheme.plugins.doors.evaluate import main
from markscheme.plugins.doors.evaluate_records import normalize_answer as box_without_markers


def normalize_answer(answer: object) -> str:
    """What is compared, of a response and of a gold answer alike. Change it here if your data needs another form."""
    return box_without_markers(answer)


if __name__ == "__main__":
    raise SystemExit(main(normalized=normalize_answer))
