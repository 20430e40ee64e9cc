"""Numbers one can defend, from counts per problem: estimators, intervals, comparison, planning.

Nothing here sees a response's text. Problems are the clusters everywhere, and anything random takes a seed.
"""

from markscheme.statistics.comparison import Comparison, Moved, compare
from markscheme.statistics.counts import Counts, from_correct, tally, tally_marks
from markscheme.statistics.estimators import accuracy, g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.intervals import Interval, interval, mean_interval

__all__ = [
    "Comparison",
    "Counts",
    "Interval",
    "Moved",
    "accuracy",
    "compare",
    "from_correct",
    "g_pass_at_k",
    "interval",
    "mean_interval",
    "pass_at_k",
    "pass_hat_k",
    "tally",
    "tally_marks",
]
