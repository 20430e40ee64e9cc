"""A stand-in for nanochat, whose repository cannot be fetched in a test: the same modules, names and signatures.

Only what our backend calls is there, with the conventions of the real one: special tokens, conversations that end with
an assistant's message, `generate` that yields a column of tokens a step, checkpoints below NANOCHAT_BASE_DIR.
The "model" is a script: it knows the answers, and how often it gives them.
"""
