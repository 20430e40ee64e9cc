"""`python -m scripts.chat_eval -i sft -a AIME-2024 …`, also under torchrun: a nanochat checkpoint on AIME and others."""

from pathlib import Path

from markscheme.plugins.doors.chat_eval import main

if __name__ == "__main__":
    # Where this replaced nanochat's own script, that one is beside it and runs nanochat's other tasks.
    raise SystemExit(main(original=Path(__file__).with_name("chat_eval.py.before")))
