"""What a response says: its tokens, its clauses with their mood, and the rule that finds the answer in them.

The reader never sees the gold. It is told the kind of answer that is asked for, and the statement where it is known.
"""
