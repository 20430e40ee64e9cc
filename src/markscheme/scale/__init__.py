"""More than one process, GPU or machine for one run."""
