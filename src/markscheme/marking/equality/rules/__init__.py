"""Compare two parsed answers, with one rule for each pair of kinds."""
