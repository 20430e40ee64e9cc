"""Commands that are run as `python -m scripts.NAME`."""
