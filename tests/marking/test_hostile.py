"""Every hostile response, under every protocol, from wherever marking is called: a verdict in time, then business as usual."""

import asyncio
import multiprocessing
import threading
import time

import pytest

from markscheme.marking import mark, protocol_names
from markscheme.types import Verdict

PROTOCOLS = [name for name in protocol_names() if name != "math-verify"]  # its own limits are five seconds each
SOME = ["math", "countdown"]
PUZZLE = {"nums": [3, 5, 2], "target": 16}
RESPONSES = [
    "\\boxed{9^{9^{9^{9}}}}", "The answer is 9**9**9**9", "#### 9**9**9", "<answer>9**9**9</answer>", "ANSWER: 1e999999999",
    "\\boxed{(((9!)!)!)!}", "\\boxed{" + "(" * 10_000 + "7" + ")" * 10_000 + "}", "\\boxed{" + "\\frac{1}{" * 3000,
    "\\boxed{" * 20_000, "\\boxed{\\sum_{n=1}^{10^{10}} n^n}", "\\boxed{\\int_0^{10^9} e^{x^2} dx}",
    "\\boxed{__import__('os').system('true')}", "<answer>__import__('os')</answer>", "\\boxed{6 % comment\n}",
    "\\boxed{nan}", "\\boxed{\\infty - \\infty}", "ANSWER: inf", "<answer>(3-3)/(5-5)*2</answer>", "x = 6 " * 1_700_000,
    "\\boxed{" + "∪".join(f"({2 * i},{2 * i + 1})" for i in range(300)) + "}", "<answer>" + "-(" * 1000 + "1" + ")" * 1000 + "</answer>",
]  # fmt: skip
READS_NESTED = ("aime", "gsm8k-flexible", "gsm8k-lm-eval-flexible", "gsm8k-numeric", "math")
LIMIT = 20.0  # seconds for all of them under one protocol; half a second each is what computer algebra may take


def hostile_round(protocol):
    """The verdicts on all hostile responses, the time they took, and whether the next response is marked normally."""
    gold = PUZZLE if protocol == "countdown" else "7"
    right = (
        "<answer>2*(3+5)</answer>"
        if protocol == "countdown"
        else "7"
        if protocol == "normalized"
        else "\\boxed{7}\n#### 7"
    )
    begun = time.process_time()
    verdicts = [mark(response, gold=gold, protocol=protocol).verdict for response in RESPONSES]
    took = time.process_time() - begun
    return verdicts, took, mark(right, gold=gold, protocol=protocol).verdict


def every_round(protocols=PROTOCOLS):
    return {protocol: hostile_round(protocol) for protocol in protocols}


def check(found):
    for protocol, (verdicts, took, then) in found.items():
        # Ten thousand parentheses around a 7 are a 7, for a protocol that reads mathematics or looks for a number.
        accepted = [k for k, verdict in enumerate(verdicts) if verdict is Verdict.CORRECT]
        assert accepted == ([6] if protocol in READS_NESTED else []), (protocol, accepted)
        assert took < LIMIT, (protocol, took)
        assert then is Verdict.CORRECT, protocol


def test_hostile_responses_when_marked_from_a_thread_then_each_has_a_verdict_in_time():
    found = {}
    thread = threading.Thread(target=lambda: found.update(every_round()))
    thread.start()
    thread.join()
    check(found)


def test_hostile_responses_when_marked_from_asyncio_then_each_has_a_verdict_in_time():
    async def rounds():
        return await asyncio.gather(*(asyncio.to_thread(hostile_round, protocol) for protocol in SOME))

    check(dict(zip(SOME, asyncio.run(rounds()), strict=True)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hostile_responses_when_marked_in_a_child_process_then_each_has_a_verdict_in_time(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    with multiprocessing.get_context(method).Pool(1) as pool:
        check(pool.apply(every_round, [SOME]))


def test_text_of_many_loops_when_marked_then_is_read_once():
    """Line after line repeated: passing over one loop after the other, the reader went as deep as there are loops."""
    loops = "\n".join(f"The answer is correct {number}.\n" * 40 for number in range(1_500))
    began = time.process_time()
    assert not mark(loops, gold="7", protocol="math").correct
    assert time.process_time() - began < 5
    assert mark("The answer is 7.\n" + "This answer is correct.\n" * 400, gold="7", protocol="math").correct


def test_long_line_of_words_that_conclude_when_marked_behind_a_bold_value_then_is_read_once():
    """Each "so" looked for a number in the rest of its line: 200 kB took a minute."""
    text = "The pond has **5 fish** in it. " + "so " * 700_000 + "\nThe end of the story was 5 fish"
    began = time.process_time()
    assert mark(text, gold="5", protocol="math").verdict in (Verdict.CORRECT, Verdict.TRUNCATED)
    assert time.process_time() - began < 5
