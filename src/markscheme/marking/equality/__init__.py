"""Decide whether two answers are the same mathematics: `equal` returns a bool, `compare` also the reason, or "undecided".

`read/` turns text into values, `rules/` compares them, and both use the exact arithmetic of `algebra/`. `comparing`
combines them. What exact arithmetic cannot decide goes to sympy in a worker process (`proofs`).

| a new …                            | goes to                                                                        |
|------------------------------------|--------------------------------------------------------------------------------|
| spelling of a character or sign    | `read/characters.toml`, or a pattern in `read/cleaning.py`                     |
| command, function or constant      | `read/vocabulary.toml`; its value in `algebra/functions.py`                    |
| answer in words, time, choice      | `read/phrases.py`                                                              |
| unit                               | `units.toml`                                                                   |
| notation for lists, sets, matrices | `read/parsing.py`; for equations and inequalities `read/relations.py`          |
| kind of answer                     | `kinds.py`, and its row in the table of `rules/rulebook.py`                    |
| rule of equality                   | `rules/scalars.py`, `lists.py` or `equations.py`, and its row in that table    |
| second meaning of the same text    | `comparing.py`, one entry of `_MEANINGS`                                       |

A text passes `read/`: `cleaning` (characters), `phrases` (words), `tokens`, `tree` (brackets, arguments of commands),
`parsing` with `relations` and `values`, and `expressions`, which works out the value.
"""

from markscheme.marking.equality.comparing import AnswerComparison as AnswerComparison
from markscheme.marking.equality.comparing import canonical_key as canonical_key
from markscheme.marking.equality.comparing import compare as compare
from markscheme.marking.equality.comparing import equal as equal

__all__ = ["AnswerComparison", "canonical_key", "compare", "equal"]
