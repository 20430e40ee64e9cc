"""`vllm/` against the real vLLM, on processor cores: two replicas serve nano's weights, and everything is asked of them.

`MARKSCHEME_VLLM` names an environment that has it; `.ci/vllm FOLDER` makes one.
"""

import asyncio
import os
import re
import signal
import threading
import time
import urllib.request
from pathlib import Path

import pytest

import markscheme as ms
from markscheme.config import make_config
from markscheme.models import load_model
from markscheme.models.base import Request
from markscheme.nano import WEIGHTS
from markscheme.types import Sampling

pytestmark = pytest.mark.timeout(900)

SERVER = ("enforce-eager", "dtype=float32", "max-model-len=256", "served-model-name=nano")


@pytest.fixture(scope="module")
def program():
    folder = Path(os.environ.get("MARKSCHEME_VLLM", "no-such-folder"))
    if not (folder / "bin" / "vllm").exists():
        reason = "no vLLM: `.ci/vllm FOLDER` makes an environment with it, MARKSCHEME_VLLM=FOLDER names it"
        if os.environ.get("MARKSCHEME_REQUIRE_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder / "bin"


@pytest.fixture(scope="module")
def served(program, tmp_path_factory):
    """A model with two replicas that are up, the folder of their logs, and a loop that goes on between tests."""
    folder = tmp_path_factory.mktemp("vllm")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program}:{os.environ['PATH']}")
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")  # GiB
        config = make_config(
            benchmark="countdown-sample", model=f"vllm/{WEIGHTS}", replicas=2, server_arg=SERVER,
            server_timeout=600.0, extra_field=("logprobs=true",),
        )  # fmt: skip
        model = load_model(f"vllm/{WEIGHTS}", config)

        def call(awaitable):
            return asyncio.run_coroutine_threadsafe(awaitable, loop).result(600)

        try:
            call(model.start(folder, lambda _: None))
            yield model, folder, call
        finally:
            call(model.close())
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
            loop.close()


@pytest.fixture(scope="module")
def questions():
    return ms.benchmark("countdown-sample").questions()


def request(question, *seeds, **sampling):
    return Request(
        benchmark="countdown-sample", problem_id=question.problem.id, key=question.problem.key,
        statement=question.problem.statement, prompt=question.prompt, samples=tuple(range(len(seeds))), seeds=seeds,
        sampling=Sampling(**{"temperature": 1.0, "max_tokens": 60, **sampling}),
    )  # fmt: skip


def logs(folder):
    return [(folder / "servers" / f"{place}.log").read_text() for place in range(2)]


def port_of(log):
    return int(re.findall(r"--port (\d+)", log)[-1])


def check_start_when_two_replicas_then_both_are_up_and_prefix_caching_is_left_on(served):
    _, folder, _ = served
    for log in logs(folder):
        with urllib.request.urlopen(f"http://127.0.0.1:{port_of(log)}/metrics", timeout=30) as answer:
            settings = next(line for line in answer.read().decode().splitlines() if "cache_config_info{" in line)
        assert 'enable_prefix_caching="True"' in settings


def check_answer_when_greedy_then_the_text_of_the_same_weights_in_numpy(served, questions):
    model, _, call = served
    nano = load_model("nano", make_config(benchmark="b", model="nano"))
    same = 0
    for question in questions[:8]:
        asked = request(question, 1, temperature=0.0, max_tokens=150)
        (there,) = call(model.answer(asked))
        (here,) = call(nano.answer(asked))
        same += there.text.split() == here.text.split()
        assert there.finish_reason == here.finish_reason
    assert same >= 7  # the order of a sum may turn a tie
    call(nano.close())


def check_answer_when_several_samples_are_asked_then_one_request_and_a_seed_that_decides(served, questions):
    model, _, call = served
    first, again, other = (call(model.answer(request(questions[0], seed, seed, seed))) for seed in (5, 5, 6))
    assert len(first) == 3 == len({one.text for one in first})
    assert [one.text for one in first] == [one.text for one in again]
    assert [one.text for one in first] != [one.text for one in other]
    assert all(one.completion_tokens and one.prompt_tokens is not None and one.model == "nano" for one in first)


def check_answer_when_it_is_stopped_ended_or_cut_then_the_finish_reason_says_so(served, questions):
    model, _, call = served
    (cut,) = call(model.answer(request(questions[0], 5, max_tokens=4)))
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 4)
    (stopped,) = call(model.answer(request(questions[0], 5, stop=(" ;",))))
    assert stopped.finish_reason == "stop"
    assert ";" not in stopped.text
    ended = [call(model.answer(request(one, 1, temperature=0.0, max_tokens=200)))[0] for one in questions[:4]]
    assert any(one.finish_reason == "stop" and one.text.rstrip().endswith("</answer>") for one in ended)


def check_run_when_a_server_is_killed_then_the_other_answers_and_it_comes_back(served, questions):
    model, folder, call = served
    pid = next(pid for pid in _pids() if f"--port {port_of(logs(folder)[0])}" in _command_line(pid))
    os.kill(pid, signal.SIGKILL)
    asked = [call(_patiently(model, request(one, 3))) for one in questions[:6]]
    assert all(answers[0].text for answers in asked)
    deadline = time.monotonic() + 500
    while logs(folder)[0].count("== markscheme starts") < 2 or not _healthy(port_of(logs(folder)[0])):
        assert time.monotonic() < deadline, logs(folder)[0][-2000:]
        time.sleep(0.5)
    assert call(model.answer(request(questions[0], 3)))[0].text == asked[0][0].text


def test_vllm_when_it_is_the_real_one_then_everything_asked_of_it_holds(served, questions):
    """One test: its servers take a minute to start, and tests are shared among processes."""
    check_start_when_two_replicas_then_both_are_up_and_prefix_caching_is_left_on(served)
    check_answer_when_greedy_then_the_text_of_the_same_weights_in_numpy(served, questions)
    check_answer_when_several_samples_are_asked_then_one_request_and_a_seed_that_decides(served, questions)
    check_answer_when_it_is_stopped_ended_or_cut_then_the_finish_reason_says_so(served, questions)
    check_run_when_a_server_is_killed_then_the_other_answers_and_it_comes_back(served, questions)


async def _patiently(model, asked):
    """As the scheduler does: another try where one can help."""
    from markscheme.models.base import RequestFailed

    for _ in range(20):
        try:
            return await model.answer(asked)
        except RequestFailed as failure:
            if not failure.retryable:
                raise
            await asyncio.sleep(0.2)
    raise AssertionError("no answer in twenty tries")


def _healthy(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def _pids():
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _command_line(pid):
    """Of a server itself, not of the small program that holds it."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return " ".join(words) if any(word.endswith("bin/vllm") for word in words[:3]) else ""
