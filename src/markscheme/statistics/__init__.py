"""Estimators, intervals, comparisons and plans, from counts per problem.

Nothing here sees the text of a response. The problem is the sampling unit, and anything random takes a seed.
"""

from markscheme.statistics.clusters import own_clusters
from markscheme.statistics.comparison import Comparison, Moved, compare
from markscheme.statistics.counts import Counts, Picks, Round, from_correct, tally
from markscheme.statistics.estimators import accuracy, g_pass_at_k, pass_at_k, pass_hat_k
from markscheme.statistics.intervals import Interval, Population, macro, mean_interval
from markscheme.statistics.metrics import interval, per_problem
from markscheme.statistics.picking import Vote, best_of_k, classes_of, maj_at_k
from markscheme.statistics.planning import Plan, VarianceTable, plan, variance_table
from markscheme.statistics.ranking import Ranking, rank

__all__ = [
    "Comparison", "Counts", "Interval", "Moved", "Picks", "Plan", "Population", "Ranking", "Round",
    "VarianceTable", "Vote", "accuracy", "best_of_k", "classes_of", "compare", "from_correct", "g_pass_at_k",
    "interval", "macro", "maj_at_k", "mean_interval", "own_clusters", "pass_at_k", "pass_hat_k", "per_problem",
    "plan", "rank", "tally", "variance_table",
]  # fmt: skip
