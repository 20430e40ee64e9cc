"""One file a protocol: its name, version, rule and nothing else."""
