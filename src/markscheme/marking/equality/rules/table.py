"""Compares two read answers, kind by kind: the table of rules and the way in."""

from __future__ import annotations

from typing import Final

from markscheme.marking.equality.kinds import (
    Based,
    Choice,
    Clock,
    Collection,
    Matrix,
    RealSet,
    Relation,
    Scalar,
    Sequence,
    Text,
)
from markscheme.marking.equality.rules import equations as relations
from markscheme.marking.equality.rules import lists, scalars
from markscheme.marking.equality.rules.comparator import RULES, Judge, Rule

_TABLE: Final[dict[tuple[type, type], Rule]] = {
    (Scalar, Scalar): scalars.scalars,
    (Text, Text): scalars.texts,
    (Text, Scalar): scalars.text_scalar,
    (Choice, Choice): scalars.choices,
    (Choice, Scalar): scalars.choice_scalar,
    (Choice, Text): scalars.choice_text,
    **{(Choice, kind): scalars.choice_value for kind in (Sequence, Collection, RealSet, Matrix)},
    (Based, Based): scalars.based,
    (Based, Scalar): scalars.based_scalar,
    (Clock, Clock): scalars.clocks,
    (Clock, Scalar): scalars.clock_scalar,
    (Sequence, Sequence): lists.sequences,
    (Collection, Collection): lists.collections,
    (Collection, Sequence): lists.collection_sequence,
    (Collection, Scalar): lists.collection_scalar,
    (Collection, RealSet): lists.collection_set,
    (Sequence, RealSet): lists.as_sets,
    (RealSet, RealSet): lists.as_sets,
    (Matrix, Matrix): lists.matrices,
    (Matrix, Sequence): lists.matrix_sequence,
    (Relation, Relation): relations.relations,
    **{
        (Relation, kind): relations.relation_other
        for kind in (Scalar, Sequence, Collection, RealSet, Matrix, Text, Based, Clock, Choice)
    },
}
RULES.update(_TABLE)

__all__ = ["Judge"]
