"""Models in this process: rows enter and leave the batch at every step, and shared prompts are computed once.

`engine.py` is the loop, `cohorts.py` the keys and values, `attention.py` replaces the attention of a transformers
model, `draws.py` samples a token from a seed, and `endings.py` decides when a row is done.
"""
