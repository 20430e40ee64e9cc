"""Models in this process: rows enter and leave the batch at every step, and what prompts share is computed once.

`engine.py` is the loop, `cohorts.py` what it remembers, `attention.py` what a model of transformers computes in place of
its own attention, `draws.py` how a token is drawn from a seed, `endings.py` when a row is done.
"""
