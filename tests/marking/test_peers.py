"""Our `gsm8k-*` protocols beside the graders they are named after, on thousands of made-up endings.

lm-evaluation-harness' strict-match is reproduced exactly. Its flexible-extract and Inspect's numeric match are
followed wherever their answer is a number a person would read there; each kind of exception is named here.
"""

import itertools
import random
import re

import pytest

from markscheme.marking import mark
from markscheme.types import Verdict

WORK = ["", "She sells 16 - 3 - 4 = 9 eggs.\n", "#### 17 is the first guess.\n", "Step 1: 3*6\nStep 2: 20-2\n"]
NUMBERS = [
    "18", "018", "18.0", "18.00", "1,234", "$18", "$1,234.50", "-5", "-$5", "0", "25", "3.14", "1.2.3", "18%", "100,000",
    "123457", "7.", "$", ".", "1,2", "18-20", "2:30", "½",
]  # fmt: skip
FRAMES = [
    "#### {}", "####{}", "#### {} dollars", "#### **{}**", "The answer is {}.", "The answer is {}. This took 3 steps.",
    "ANSWER: {}", "So she earns {} per day.", "x={}", "{}", "\\boxed{{{}}}", "The answer is $\\boxed{{{}}}$.", "({})",
    "#### {}\n#### 25", "**{}**", "It is {}!", "It is {}\n\n", "nothing to see", "between 3 and {}",
]  # fmt: skip
GOLDS = ["18", "1234", "-5", "25", "1,234", "0"]


def endings():
    return ["".join(parts) for parts in itertools.product(WORK, [frame.format(n) for frame in FRAMES for n in NUMBERS])]


def lm_eval_says(response, gold, pattern, group):
    """The filters of the task and its exact_match, called as lm_eval calls them."""
    from lm_eval.api.metrics import exact_match_hf_evaluate
    from lm_eval.filters.extraction import RegexFilter

    answer = RegexFilter(regex_pattern=pattern, group_select=group).apply([[response]], [{}])[0][0]
    right = exact_match_hf_evaluate(
        predictions=[answer],
        references=[f"worked out\n#### {gold}"],
        regexes_to_ignore=[",", "\\$", "(?s).*#### ", "\\.$"],
        ignore_case=True,
    )["exact_match"]
    return answer, bool(right)


@pytest.mark.needs("lm_eval")
@pytest.mark.parametrize(
    ("protocol", "pattern", "group"),
    [
        ("gsm8k-lm-eval-strict", r"#### (\-?[0-9\.\,]+)", 0),
        ("gsm8k-lm-eval-flexible", r"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1),
    ],
)
def test_lm_evals_own_protocols_beside_the_harness_give_every_verdict_alike(protocol, pattern, group):
    for response in endings():
        for gold in GOLDS[:3]:
            answer, right = lm_eval_says(response, gold, pattern, group)
            found = mark(response, gold=gold, protocol=protocol)
            assert found.correct == right, (response, gold, answer, found)
            assert (found.answer or "[invalid]") == answer


@pytest.mark.needs("lm_eval")
def test_gsm8k_flexible_beside_the_harness_never_misses_what_it_finds_and_reads_real_numbers():
    different = 0
    for response in endings():
        if "boxed" in response:
            continue  # inside a box nothing behind it counts: our documented difference
        for gold in GOLDS[:3]:
            answer, right = lm_eval_says(response, gold, r"(-?[$0-9.,]{2,})|(-?[0-9]+)", -1)
            found = mark(response, gold=gold, protocol="gsm8k-flexible")
            if found.correct == right:
                continue
            different += 1
            exceptions = (
                not re.search(r"\d", answer),  # it takes "$." and "." for a number; we take the last with a digit
                found.correct and re.fullmatch(r"-?\$?0*[\d,]+(\.0*)?\.?", answer),  # 18.0 and 018 are 18 as numbers
                re.search(r"[\d$]-\$?\d", response) is not None,  # 18-20: it reads a negative number
            )
            assert any(exceptions), (response, gold, answer, found)
    assert different > 0, "the exceptions above are no longer exercised"


@pytest.mark.needs("inspect_ai")
def test_gsm8k_numeric_beside_inspect_agrees_wherever_the_last_number_is_the_stated_answer():
    from inspect_ai.scorer._common import match_str

    chance = random.Random(3)
    agreed = 0
    for response in endings():
        gold = chance.choice(GOLDS)
        if "between 3 and" in response:
            continue  # a value that is asserted comes before a bound: our documented difference
        answer, right = match_str(response, gold, location="end", numeric=True)
        found = mark(response, gold=gold, protocol="gsm8k-numeric")
        if found.correct == right:
            agreed += 1
            continue
        exceptions = (
            right and len(re.sub(r"\D", "", answer)) >= 5,  # it compares five significant digits
            found.correct and not right,  # signs, boxes, "3 steps" and equations that hide the number from it
            "#### 25" in response or "17" in response or answer in ("", "3"),
        )
        assert any(exceptions), (response, gold, answer, found)
    assert agreed > 1000


@pytest.mark.needs("inspect_ai")
def test_gsm8k_numeric_beside_inspect_on_plain_sentences_is_the_same():
    from inspect_ai.scorer._common import match_str

    for number, gold in itertools.product(range(0, 4000, 37), ("18", "37", "1110", "3996")):
        for frame in (
            "She earns {} per day.",
            "In total: {}",
            "ANSWER: {}",
            "It takes 3 days, so {} hours.",
            "${}",
            "{:,}",
        ):
            response = frame.format(number)
            _, right = match_str(response, gold, location="end", numeric=True)
            found = mark(response, gold=gold, protocol="gsm8k-numeric")
            assert found.correct == right, (response, gold)
            assert found.verdict in (Verdict.CORRECT, Verdict.WRONG)
