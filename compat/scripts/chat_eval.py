"""`python -m scripts.chat_eval -i sft -a AIME-2024 …`, also under torchrun: a nanochat checkpoint on AIME and others."""

from markscheme.plugins.doors.chat_eval import main

if __name__ == "__main__":
    raise SystemExit(main())
