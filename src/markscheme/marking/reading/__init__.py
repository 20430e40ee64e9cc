"""Split a response into tokens and clauses and find its answer.

The reader never sees the gold. It knows the kind of answer and, if available, the problem statement.
"""
