"""What must hold for any response: no protocol raises, hangs or points outside; decorations do not change a verdict."""

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.marking import get_protocol, mark, protocol_names
from markscheme.marking.marker import FAILED
from markscheme.types import Response, Verdict

PROTOCOLS = [name for name in protocol_names() if name != "math-verify"]
PUZZLE = {"nums": [3, 5, 2], "target": 16}

FRAGMENTS = st.sampled_from(
    [
        "\\boxed{", "\\boxed", "\\fbox{", "}", "{", "\\{", "\\", "####", "#### 7", "<think>", "</think>", "<answer>",
        "</answer>", "answer is", "Answer:", "The final answer is", "**", "$", "$$", "\\(", "\\)", "\\[", "\\]", "=", "7",
        "-", "−", "1,234", "0.5", ".", ",", "%", "\\frac{1}{2}", "x", "\n", "\n\n", "\nQuestion:", "\nHuman:", "<|im_end|>",
        " and ", " or ", "\\approx", "\\text{", "\\begin{pmatrix}", "\\end{pmatrix}", "（", "３", "\u200b", "__", "2*(3+5)",
        "1e999", "9^{9^{9}}", "nan", "inf", "½", "二", "\x00", "\ud7ff", "é",
    ]
)  # fmt: skip
RESPONSES = st.one_of(st.text(max_size=200), st.lists(FRAGMENTS | st.text(max_size=5), max_size=30).map("".join))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(text=RESPONSES)
@settings(max_examples=40, deadline=None)
def test_mark_on_any_text_gives_a_verdict_and_a_span_inside_it(protocol, text):
    found = mark(text, gold=PUZZLE if protocol == "countdown" else "7", protocol=protocol)
    assert found.protocol == get_protocol(protocol).label
    assert found.verdict is not Verdict.ERROR
    assert not found.why.startswith(FAILED)
    if found.verdict in (Verdict.NO_ANSWER, Verdict.TRUNCATED):
        assert found.answer is None
    else:
        assert found.answer is not None
        start, end = found.span
        assert 0 <= start <= end <= len(text)
    assert mark(text, gold=PUZZLE if protocol == "countdown" else "7", protocol=protocol) == found


@given(gold=st.one_of(st.text(max_size=40), st.lists(FRAGMENTS, max_size=6).map("".join)), text=RESPONSES)
@settings(max_examples=100, deadline=None)
def test_mark_against_any_gold_never_raises(gold, text):
    for protocol in PROTOCOLS:
        if protocol != "countdown":
            assert not mark(text, gold=gold, protocol=protocol).why.startswith(FAILED)


DECORATIONS = [
    "{}", "\\boxed{{{}}}", "So $\\boxed{{{}}}$.", "\\[\n\\boxed{{{}}}\n\\]", "**\\boxed{{{}}}**", "The answer is {}.",
    "The final answer is ${}$. I hope it is correct.", "**Answer:** {}", "**Final Answer:** **{}**", "ANSWER: {}",
    "Work.\n\n### Final Answer\n\n\\(\\boxed{{{}}}\\)", "<answer>{}</answer>", "<think>maybe 3</think>\n\\boxed{{{}}}",
    "<think>\\boxed{{3}}</think>The answer is **{}**.", "First \\boxed{{3}}, but then \\boxed{{{}}}.",
    "#### {}", "We get 3 first.\n\nAnswer: {}\n\nQuestion: what is 1+1?\nAnswer: 2",
    "\\boxed{{\\text{{{}}}}}", "\\boxed{{\\mathbf{{{}}}}}", "\\boxed{{ {} }}", "\\boxed{{{}.}}", "\\boxed{{{}}} units",
    "\\boxed{{x = {}}}",
]  # fmt: skip


@pytest.mark.parametrize("protocol", ["aime", "gsm8k-numeric", "math"])
@given(value=st.integers(0, 999), other=st.integers(0, 999), decoration=st.sampled_from(DECORATIONS))
@settings(max_examples=100, deadline=None)
def test_mark_when_an_answer_is_decorated_keeps_the_verdict(protocol, value, other, decoration):
    response = decoration.format(value)
    assert mark(response, gold=str(value), protocol=protocol).verdict is Verdict.CORRECT
    if other != value:
        assert mark(response, gold=str(other), protocol=protocol).verdict is Verdict.WRONG


SPELLINGS = [
    "{:,}", "${:,}", "\\${:,}", "{:,} dollars", "{:,}.00", "{}", "{}.0", "**{:,}**", "\\$ {:,}", "{:,} \\text{{ dollars}}",
]  # fmt: skip


@given(value=st.integers(0, 10**9), spelling=st.sampled_from(SPELLINGS), frame=st.sampled_from(DECORATIONS[:7]))
@settings(max_examples=120, deadline=None)
def test_gsm8k_numeric_when_a_number_is_spelt_otherwise_is_still_that_number(value, spelling, frame):
    response = frame.format(spelling.format(value))
    assert mark(response, gold=str(value), protocol="gsm8k-numeric").correct, response
    assert not mark(response, gold=str(value + 1), protocol="gsm8k-numeric").correct


@given(value=st.integers(-999, 999))
@settings(max_examples=60, deadline=None)
def test_gsm8k_numeric_when_the_sign_is_any_minus_reads_it(value):
    for minus in "-−－":
        text = str(value).replace("-", minus)
        assert mark(f"The answer is {text}.", gold=str(value), protocol="gsm8k-numeric").correct


SIZE = 100_000
HOSTILE = {
    "unclosed boxes": "\\boxed{", "filled unclosed boxes": "\\boxed{1 ", "adjacent boxes": "\\boxed{1},", "braces": "{",
    "answers": "answer is ", "answer lines": "answer: \n", "non-answers": "the answer is correct. ", "hashes": "#",
    "headings": "#### Step\n", "newlines": "\n", "spaces": " ", "digits": "1", "points": "1.", "commas": "1,",
    "dollars": "$", "bold": "**1", "questions": "\nQuestion: 1", "thinking": "<think>", "thoughts": "</think>",
    "open answers": "<answer>", "empty answers": "<answer></answer>", "equals": "1=", "sums": "1+", "backslashes": "\\",
    "the word": "boxed ", "formulas": "answer: \\(", "matrices": "answer: \\begin{", "sentences": "the value 5 is x ",
    "characters": "值5", "turns": "<|im", "invisible": "\u200b", "fractions": "\\frac", "notes": "= <<",
    "prices": "$1 + ", "predicates": "is $x$ and ", "reasons": "Since 5, so 5", "rows": "\\\\ &= 1", "answers behind": "5 is the answer ",
    "amounts": "5 a day ", "inches": '1"', "boxed amounts": "\\boxed{5 a day ", "European": "1.234,",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_mark_on_megabytes_of_one_pattern_is_quick_and_keeps_the_answer_short(name):
    unit = HOSTILE[name]
    text = unit * (SIZE // len(unit))
    for protocol in PROTOCOLS:
        begun = time.process_time()
        found = mark(text, gold=PUZZLE if protocol == "countdown" else "7", protocol=protocol)
        # Quadratic behaviour would take ten seconds or more here, and linear takes a twentieth of this.
        assert time.process_time() - begun < 1
        assert len(found.answer or "") <= 10_000
        assert len(found.why) < 500
        assert not found.why.startswith(FAILED)


UNITS = ["a ", "a-", "1,", "1 or ", "(a", "$", "\\text{", "\\", "= 1", "{", "**a", "\\(", "x^2", "' "]
FRAMES = ["\\boxed{{{}}}", "The answer is {}", "<answer>{}</answer>", "#### {}", "\\boxed{{{} = 5}}", "5 {}"]


@pytest.mark.parametrize("unit", UNITS)
def test_mark_on_an_answer_that_repeats_itself_never_backtracks_for_long(unit):
    for length, frame in itertools.product((290, 2000), FRAMES):
        response = frame.format((unit * length)[:length] + "#")
        for protocol in PROTOCOLS:
            begun = time.process_time()
            mark(response, gold=PUZZLE if protocol == "countdown" else "7", protocol=protocol)
            assert time.process_time() - begun < 1, (protocol, frame, length)  # the slowest takes a twentieth of this


def test_mark_when_the_server_says_the_model_stopped_by_itself_then_a_missing_full_stop_is_no_cut():
    text = "Each of the five bags holds nine apples, so the bags are counted first.\n5 x 9 = 45 apples in all"
    stopped = Response(key="k", sample=0, text=text, finish_reason="stop")
    assert mark(stopped, gold="44").verdict is Verdict.WRONG
    assert mark(text, gold="44").verdict is Verdict.WRONG  # whether a text has ended does not depend on the gold
    assert mark(stopped, gold="45").verdict is mark(text, gold="45").verdict is Verdict.CORRECT
    in_formula = Response(key="k", sample=0, text=text + " and the price \\( p = \\frac{", finish_reason="stop")
    assert mark(in_formula, gold="44").verdict is Verdict.TRUNCATED  # a stop string, then


def test_mark_when_generation_was_cut_off_counts_only_an_explicit_answer():
    cut = Response(key="k", sample=0, text="So far we have 3 + 4 = 7", finish_reason="length")
    told = Response(key="k", sample=0, text="The answer is \\boxed{7}, because", finish_reason="length")
    whole = Response(key="k", sample=0, text="So far we have 3 + 4 = 7", finish_reason="stop")
    for protocol in ("aime", "math", "gsm8k-numeric"):
        assert mark(cut, gold="7", protocol=protocol).verdict is Verdict.TRUNCATED
        assert mark(told, gold="7", protocol=protocol).verdict is Verdict.CORRECT
        assert mark(whole, gold="7", protocol=protocol).verdict is Verdict.CORRECT


def test_mark_when_reasoning_came_apart_reads_only_the_text():
    apart = Response(key="k", sample=0, text="\\boxed{7}", reasoning="\\boxed{3}", finish_reason="stop")
    assert mark(apart, gold="7", protocol="aime").correct
    thinking = Response(key="k", sample=0, text="", reasoning="It is \\boxed{7}", finish_reason="length")
    assert mark(thinking, gold="7", protocol="aime").verdict is Verdict.TRUNCATED
    silent = Response(key="k", sample=0, text="", reasoning="It is \\boxed{7}", finish_reason="stop")
    assert mark(silent, gold="7", protocol="aime").verdict is Verdict.NO_ANSWER


def test_mark_with_another_end_of_thinking_looks_behind_it():
    text = "<thinking>\\boxed{3}</thinking>\\boxed{7}[DONE]\\boxed{9}"
    assert mark(text, gold="9", protocol="aime").correct
    assert mark(text, gold="9", protocol="aime", think_end="[DONE]").correct
    assert mark("[THINK]\\boxed{3}", gold="3", protocol="aime", think_end="[/THINK]").verdict is Verdict.TRUNCATED
    assert mark("[THINK]\\boxed{3}[/THINK]4", gold="4", protocol="aime", think_end="[/THINK]").correct
    assert mark("<think>\\boxed{3}", gold="3", protocol="aime", think_end="").correct


def test_mark_span_points_at_the_answer_in_the_text():
    text = "<think>no \\boxed{1}</think> So the answer is $\\boxed{ 7 }$."
    start, end = mark(text, gold="7", protocol="aime").span
    assert text[start:end].strip() == "7"


@pytest.mark.parametrize(
    ("response", "flag"),
    [
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("抱歉，我无法回答这个问题。", "refusal"),
        ("", "empty reply"),
        ('<tool_call>{"name": "python"}</tool_call>', "tool call only"),
        (Response(key="k", sample=0, text="", finish_reason="content_filter"), "content filter"),
        (Response(key="k", sample=0, text="", metadata={"tool_calls": 1}), "tool call only"),
        (Response(key="k", sample=0, text="", metadata={"refusal": "No."}), "refusal"),
    ],
)
def test_mark_when_something_else_stands_in_the_place_of_an_answer_then_it_is_flagged(response, flag):
    found = mark(response, gold="5", protocol="math")
    assert not found.correct
    assert flag in found.flags


def test_mark_when_an_apology_comes_with_the_answer_then_it_is_no_refusal():
    found = mark("I'm sorry for the confusion. The answer is 5.", gold="5")
    assert found.correct
    assert not found.flags
