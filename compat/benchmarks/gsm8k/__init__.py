"""GSM8K as a benchmark class, with a script that asks a model."""
