"""Where a response states its answer."""
