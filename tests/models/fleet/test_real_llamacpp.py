"""`llamacpp/` against the real llama.cpp: two replicas serve nano's weights from a GGUF file.

`MARKSCHEME_LLAMACPP` names an environment that has it; `.ci/llamacpp FOLDER` makes one, as `.ci/run` does.
"""

import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest
from real_servers import Served, environment, in_numpy

import markscheme as ms
from markscheme.nano import WEIGHTS
from markscheme.nano.tokenizer import decode, encode
from markscheme.types import Message, Prompt

pytestmark = pytest.mark.timeout(300)

CONVERTER = Path(__file__).parents[2] / "support" / "nano_gguf.py"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    program = environment("MARKSCHEME_LLAMACPP", "llama-server", ".ci/llamacpp")
    folder = tmp_path_factory.mktemp("llamacpp")
    subprocess.run([program / "python", CONVERTER, WEIGHTS, folder / "nano.gguf"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{program}:{os.environ['PATH']}")
        two = Served(
            f"llamacpp/{folder / 'nano.gguf'}", folder, replicas=2, server_arg=("threads=1", "parallel=4", "ctx-size=1024"),
            extra_field=("logprobs=true",),
        )  # fmt: skip
        with two.up():
            yield two


@pytest.fixture(scope="module")
def questions():
    """Reduced to the words that nano reads: the file has no patterns to find them by."""
    asked = ms.benchmark("countdown-sample").questions()[:8]
    return [
        msgspec.structs.replace(one, prompt=Prompt(messages=(Message("user", decode(encode(one.prompt.messages[-1].content))),)))
        for one in asked
    ]  # fmt: skip


def test_llamacpp_when_it_is_the_real_one_then_everything_asked_of_it_holds(served, questions):
    theirs = [served.ask(one, 1, temperature=0.0, max_tokens=150)[0] for one in questions]
    ours = in_numpy(questions, max_tokens=150)
    same = [there.text.split() == here.text.split() for there, here in zip(theirs, ours, strict=True)]
    assert sum(same) >= 7  # the order of a sum may turn a tie
    assert [one.finish_reason for one in theirs] == [one.finish_reason for one in ours]
    assert [one.prompt_tokens for one in theirs] == [one.prompt_tokens for one in ours]

    first, again, other = (served.ask(questions[0], seed, top_p=1.0) for seed in (5, 5, 6))
    assert first[0].text == again[0].text != other[0].text
    three = served.ask(questions[0], 5, 6, 7)
    assert len({one.text for one in three}) == 3

    (cut,) = served.ask(questions[0], 5, max_tokens=4)
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 4)
    assert len(cut.metadata["logprobs"]) == 4
    assert all(number <= 0 for number in cut.metadata["logprobs"])
    (stopped,) = served.ask(
        questions[0], 5, stop=(";",)
    )  # it reads stop texts with its tokenizer, and nano has no space of its own
    assert stopped.finish_reason == "stop"
    assert ";" not in stopped.text

    os.kill(served.process(0, "llama-server"), signal.SIGKILL)
    asked = [served.ask_patiently(one, 3) for one in questions[:6]]
    assert all(answers[0].text for answers in asked)
    served.wait_for_restart(0)
    assert served.ask(questions[0], 3)[0].text == asked[0][0].text
