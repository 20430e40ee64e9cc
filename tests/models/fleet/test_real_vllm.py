"""`vllm/` against the real vLLM, on processor cores: two replicas serve nano's weights, and everything is asked of them.

`MARKSCHEME_VLLM` names an environment that has it; `.ci/vllm FOLDER` makes one. Its words for the answer are called as
reasoning models call the end of their thinking, so that vLLM's own parser has something to divide.
"""

import json
import os
import shutil
import signal

import pytest
from real_servers import Served, environment, in_numpy

import markscheme as ms
from markscheme.nano import WEIGHTS

pytestmark = pytest.mark.timeout(900)

SERVER = (
    "enforce-eager",
    "dtype=float32",
    "max-model-len=256",
    "served-model-name=nano",
    "reasoning-parser=deepseek_r1",
)
THINKING = {"<answer>": "</think>", "999": "<think>"}  # the parser wants a word for the beginning too


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    program = environment("MARKSCHEME_VLLM", "vllm", ".ci/vllm")
    weights = tmp_path_factory.mktemp("thinking") / "nano"
    shutil.copytree(WEIGHTS, weights)
    tokenizer = json.loads((weights / "tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {THINKING.get(word, word): number for word, number in words.items()}
    (weights / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program}:{os.environ['PATH']}")
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")  # GiB
        two = Served(
            f"vllm/{weights}", tmp_path_factory.mktemp("vllm"), replicas=2, server_arg=SERVER, server_timeout=600.0,
            extra_field=("logprobs=true",),
        )  # fmt: skip
        with two.up():
            yield two


@pytest.fixture(scope="module")
def questions():
    return ms.benchmark("countdown-sample").questions()


def written(completion):
    """The words that the model wrote, under their own names."""
    end = " </think> " if completion.text else " "
    text = f"{completion.reasoning or ''}{end}{completion.text}"
    for ours, theirs in THINKING.items():
        text = text.replace(theirs, ours)
    return text.split()


def check_start_when_two_replicas_then_both_are_up_and_prefix_caching_is_left_on(served):
    for place in range(2):
        with served.get(place, "/metrics") as answer:
            settings = next(line for line in answer.read().decode().splitlines() if "cache_config_info{" in line)
        assert 'enable_prefix_caching="True"' in settings


def check_answer_when_greedy_then_the_text_of_the_same_weights_in_numpy_divided_at_the_end_of_thinking(
    served, questions
):
    theirs = [served.ask(one, 1, temperature=0.0, max_tokens=150)[0] for one in questions[:8]]
    ours = in_numpy(questions[:8], max_tokens=150)
    same = [written(there) == here.text.split() for there, here in zip(theirs, ours, strict=True)]
    assert sum(same) >= 7  # the order of a sum may turn a tie
    assert [one.finish_reason for one in theirs] == [one.finish_reason for one in ours]
    ended = [one for one in theirs if one.finish_reason == "stop"]
    assert ended
    for one in ended:
        assert "=" in one.reasoning  # the attempts
        assert one.text.strip()
        assert "=" not in one.text  # the expression alone
    for one in theirs:
        assert (one.finish_reason == "length") is (not one.text)  # thinking that was cut off is no answer


def check_answer_when_several_samples_are_asked_then_one_request_and_a_seed_that_decides(served, questions):
    first, again, other = (served.ask(questions[0], seed, seed, seed) for seed in (5, 5, 6))
    assert len(first) == 3 == len({tuple(written(one)) for one in first})
    assert [written(one) for one in first] == [written(one) for one in again]
    assert [written(one) for one in first] != [written(one) for one in other]
    assert all(one.completion_tokens and one.prompt_tokens is not None and one.model == "nano" for one in first)


def check_answer_when_log_probabilities_are_asked_for_then_one_for_each_token_of_each_sample(served, questions):
    answers = served.ask(questions[1], 5, 5, max_tokens=12)
    for one in answers:
        assert len(one.metadata["logprobs"]) == 12
        assert all(number <= 0 for number in one.metadata["logprobs"])
    assert answers[0].metadata != answers[1].metadata
    (greedy,) = served.ask(questions[1], 1, temperature=0.0, max_tokens=12)
    assert sum(greedy.metadata["logprobs"]) > max(sum(one.metadata["logprobs"]) for one in answers) - 1e-3


def check_answer_when_it_is_stopped_ended_or_cut_then_the_finish_reason_says_so(served, questions):
    (cut,) = served.ask(questions[0], 5, max_tokens=4)
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 4)
    (stopped,) = served.ask(questions[0], 5, stop=(" ;",))
    assert stopped.finish_reason == "stop"
    assert ";" not in written(stopped)


def check_run_when_a_server_is_killed_then_the_other_answers_and_it_comes_back(served, questions):
    os.kill(served.process(0, "vllm"), signal.SIGKILL)
    asked = [served.ask_patiently(one, 3) for one in questions[:6]]
    assert all(written(answers[0]) for answers in asked)
    served.wait_for_restart(0)
    assert written(served.ask(questions[0], 3)[0]) == written(asked[0][0])


def test_vllm_when_it_is_the_real_one_then_everything_asked_of_it_holds(served, questions):
    """One test: its servers take a minute to start, and tests are shared among processes."""
    check_start_when_two_replicas_then_both_are_up_and_prefix_caching_is_left_on(served)
    check_answer_when_greedy_then_the_text_of_the_same_weights_in_numpy_divided_at_the_end_of_thinking(
        served, questions
    )
    check_answer_when_several_samples_are_asked_then_one_request_and_a_seed_that_decides(served, questions)
    check_answer_when_log_probabilities_are_asked_for_then_one_for_each_token_of_each_sample(served, questions)
    check_answer_when_it_is_stopped_ended_or_cut_then_the_finish_reason_says_so(served, questions)
    check_run_when_a_server_is_killed_then_the_other_answers_and_it_comes_back(served, questions)
