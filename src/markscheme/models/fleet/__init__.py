"""Many models at once: servers that are started here, replicas, the ranks of torchrun, a Ray cluster."""
