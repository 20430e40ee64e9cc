"""When two read answers are the same: one rule for each pair of kinds."""
