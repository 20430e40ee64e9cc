"""`python dev-aime/preprocess.py`: the AIME problems into `dev-aime/data/`."""

from pathlib import Path

from markscheme.plugins.doors.aime_files import main

if __name__ == "__main__":
    raise SystemExit(main(Path(__file__).parent / "data"))
