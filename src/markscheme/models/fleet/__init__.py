"""Many models at once: managed servers, replicas, the ranks of torchrun, a Ray cluster."""
