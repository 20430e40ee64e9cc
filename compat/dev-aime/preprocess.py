"""`python dev-aime/preprocess.py`: the AIME problems into `dev-aime/data/`."""

from pathlib import Path

from markscheme.plugins.doors.nanochat_tasks import preprocess

if __name__ == "__main__":
    raise SystemExit(preprocess(Path(__file__).parent / "data"))
