"""Whether two answers are the same mathematics: `equal` says yes or no, `compare` also says why, or that it cannot say."""

from markscheme.marking.equality.comparison import Comparison as Comparison
from markscheme.marking.equality.comparison import canonical_key as canonical_key
from markscheme.marking.equality.comparison import compare as compare
from markscheme.marking.equality.comparison import equal as equal

__all__ = ["Comparison", "canonical_key", "compare", "equal"]
