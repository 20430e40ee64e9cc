#!/usr/bin/env python3
"""`python3 evaluate.py --server-url …`: a model server on math500, aime-24 and aime-25, or any JSONL data sets."""

from markscheme.plugins.doors.evaluate import main

if __name__ == "__main__":
    raise SystemExit(main())
