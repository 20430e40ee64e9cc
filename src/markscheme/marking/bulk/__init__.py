"""Marking stored outputs, from one file to tens of millions of responses, and auditing what graders make of them."""
