"""What must hold for every MATH-500 gold: it equals itself, no other problem's gold, and all of its spellings."""

import itertools
import re
from collections import Counter

import rewritings

from markscheme.marking.equality import canonical_key, compare, equal

UNIT = re.compile(r"\^\\circ|\\mbox\{[^}]*\}(?:\^2)?|\\text\{ (?:degrees|cents)\}|\\\$")


def bare(gold):
    """A gold without what does not make it another answer: units, spacing, order of a list, `x =`."""
    text = re.sub(r",\\!|\\!|\s|^x=", "", UNIT.sub("", gold))
    text = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", text).replace("dfrac", "frac")
    return ",".join(sorted(text.split(","))) if re.fullmatch(r"-?\d+(,-?\d+)+", text) else text


def test_every_gold_when_compared_with_itself_then_equal(golds):
    assert [g for g in golds if not equal(g, g) or not equal(g, f"${g} $")] == []


def test_every_gold_when_compared_with_the_others_then_equal_only_to_the_same_answer(golds):
    def same(a, b):
        units = {u[0] for g in (a, b) if (u := UNIT.search(g))}
        return bare(a) == bare(b) and len(units) < 2

    wrong = [(a, b) for a, b in itertools.combinations(sorted(set(golds)), 2) if equal(a, b) != same(a, b)]
    assert wrong == []


def test_canonical_keys_when_equal_then_the_golds_are(golds):
    different = sorted(set(golds))
    keys = {g: canonical_key(g) for g in different}
    assert sum(k is not None for k in keys.values()) > 0.9 * len(different)
    clashes = [
        (a, b)
        for a, b in itertools.combinations(different, 2)
        if keys[a] is not None and keys[a] == keys[b] and not equal(a, b)
    ]
    assert clashes == []


def test_rewritings_when_compared_then_nearly_all_are_right_and_no_near_miss_is(golds):
    missed, accepted, total = Counter(), Counter(), Counter()
    for case in rewritings.cases(golds):
        total[case.equal] += 1
        found = compare(case.answer, case.gold).equal
        if case.equal and found is not True:
            missed[case.form] += 1
        elif not case.equal and found is True:
            accepted[case.form] += 1
    assert total[True] > 10_000
    assert total[False] > 3_000
    assert not accepted
    assert sum(missed.values()) <= 0.002 * total[True], missed


def near_misses(gold):
    """A gold with one number one more, one sign changed, or one variable called otherwise."""
    for m in re.finditer(r"[0-9]+|[-+]|(?<![A-Za-z\\\\{])[xyn](?![A-Za-z])", gold):
        swapped = {"-": "+", "+": "-", "x": "y", "y": "x", "n": "m"}.get(m[0])
        yield gold[: m.start()] + (swapped or str(int(m[0]) + 1)) + gold[m.end() :]


def test_golds_when_a_number_a_sign_or_a_name_is_changed_then_are_never_equal(golds):
    pairs = [(answer, gold) for gold in dict.fromkeys(golds) for answer in near_misses(gold)]
    accepted = [(answer, gold) for answer, gold in pairs if compare(answer, gold).equal is True]
    assert len(pairs) > 500
    assert accepted == []
