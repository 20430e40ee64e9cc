"""`nanochat/sft` against a stand-in with nanochat's own names and conventions (its repository cannot be fetched here)."""

import asyncio
import json
import sys

import pytest
from nanochat_files import CHECKOUT, make_checkpoints, make_newer_checkout

import markscheme as ms
from markscheme.config import make_config
from markscheme.errors import ModelError, UsageError
from markscheme.models import load_model
from markscheme.models.base import Request, RequestFailed
from markscheme.types import Message, Prompt, Sampling

pytestmark = pytest.mark.needs("torch")


@pytest.fixture(autouse=True)
def checkout(monkeypatch, tmp_path):
    monkeypatch.setenv("NANOCHAT_DIR", str(CHECKOUT))
    monkeypatch.setenv("NANOCHAT_BASE_DIR", str(make_checkpoints(tmp_path / "base")))
    before = list(sys.path)
    forget_nanochat()  # another test module may have imported it
    yield
    sys.path[:] = before
    forget_nanochat()


def forget_nanochat():
    for name in [name for name in sys.modules if name.partition(".")[0] in ("nanochat", "harness")]:
        del sys.modules[name]


def asked_about(problem, *before):
    return (*before, Message("user", problem.statement))


def test_answer_when_several_samples_are_asked_then_one_batch_with_ends_told_from_cut_offs(ask):
    problem = ms.benchmark("aime-sample").problems[0]
    sampling = Sampling(temperature=0.8, top_k=50, max_tokens=60)
    answers = ask("nanochat/sft", samples=16, sampling=sampling, messages=asked_about(problem))
    assert {one.finish_reason for one in answers} == {"stop", "length"}
    for one in answers:
        assert (one.finish_reason == "length") is one.text.startswith("Let me think")
        assert "<|" not in one.text
        assert one.completion_tokens == len(one.text)
    assert [one.prompt_tokens > 0 for one in answers] == [True] + [False] * 15
    assert answers[0].model == "sft step 650"  # the largest model, its last step


def test_answer_when_a_system_message_is_there_then_it_reaches_the_model_with_the_question(ask):
    problem = ms.benchmark("aime-sample").problems[0]
    messages = asked_about(problem, Message("system", "Examples."))
    (one,) = ask("nanochat/sft", sampling=Sampling(temperature=0.0), messages=messages, extra_field=("model_tag=d4",))
    assert one.prompt_tokens == len(problem.statement) + len("Examples.\n\n") + 4


def test_answer_when_the_prompt_would_be_cut_off_then_it_fails_instead(ask):
    with pytest.raises(RequestFailed, match="2048 tokens") as failed:
        ask("nanochat/sft", sampling=Sampling(temperature=0.0), messages=(Message("user", "x" * 3000),))
    assert failed.value.kind == "context_length"


def test_model_when_tag_and_step_are_chosen_then_that_checkpoint(ask):
    problem = ms.benchmark("aime-sample").problems[0]
    options = {"sampling": Sampling(temperature=0.8, max_tokens=60), "messages": asked_about(problem), "samples": 64}
    shares = {}
    for fields in (("step=100",), ("model_tag=d20", "step=650", "device_type=cpu"), ("model_tag=d4",)):
        answers = ask("nanochat/sft", extra_field=fields, **options)
        shares[fields[0]] = sum("boxed" in one.text and "1000" not in one.text for one in answers) / 64
    assert shares["step=100"] < shares["model_tag=d20"] < shares["model_tag=d4"]


def test_run_when_the_model_is_nanochat_then_a_problems_samples_come_in_one_request(tmp_path):
    options = {"model": "nanochat/sft", "samples": 8, "limit": 5, "max_tokens": 60, "protocol": "boxed-exact"}
    run = ms.run("aime-sample", out=tmp_path / "run", **options)
    seeds = {}
    for one in run.responses():
        seeds.setdefault(one.key, set()).add(one.seed)
    assert [len(shared) for shared in seeds.values()] == [1] * 5
    assert run.manifest.counts["correct"] > 10
    assert run.manifest.counts["truncated"] > 0


@pytest.mark.parametrize(
    ("spec", "options", "failure", "words"),
    [
        ("nanochat/chat", {}, UsageError, "base, mid, sft, rl"),
        ("nanochat/sft", {"top_p": 0.9}, UsageError, "no top-p"),
        ("nanochat/sft", {"stop": ("x",)}, UsageError, "no stop"),
        ("nanochat/sft", {"extra_field": ("tag=d4",)}, UsageError, "does not know --extra-field tag"),
        ("nanochat/rl", {}, ModelError, "no checkpoint for rl"),
        ("nanochat/sft", {"extra_field": ("step=7",)}, ModelError, "step 7"),
    ],
)
def test_model_when_it_cannot_be_had_then_one_sentence(spec, options, failure, words):
    with pytest.raises(failure, match=words):
        load_model(spec, make_config(benchmark="b", model=spec, **options))


def test_answer_when_the_checkout_is_newer_then_its_loader_and_its_columns_give_the_same(ask, tmp_path, monkeypatch):
    problem = ms.benchmark("aime-sample").problems[0]
    options = {"samples": 8, "sampling": Sampling(temperature=0.8, max_tokens=60), "messages": asked_about(problem)}
    before = ask("nanochat/sft", **options)
    forget_nanochat()
    sys.path.remove(str(CHECKOUT))
    monkeypatch.setenv("NANOCHAT_DIR", str(make_newer_checkout(tmp_path / "newer")))
    assert [one.text for one in ask("nanochat/sft", **options)] == [one.text for one in before]
    with pytest.raises(ModelError, match="no rl checkpoints, only base and sft"):
        ask("nanochat/rl", **options)


def test_model_when_that_nanochat_sees_to_its_precision_then_no_autocast(tmp_path, monkeypatch):
    from markscheme.models.nanochat import _import

    assert _import()[2] is False
    forget_nanochat()
    sys.path.remove(str(CHECKOUT))
    monkeypatch.setenv("NANOCHAT_DIR", str(make_newer_checkout(tmp_path / "newer")))
    assert _import()[2] is True


def test_answer_when_it_is_cancelled_then_it_stops_at_the_next_token_and_answers_the_next_request():
    problem = ms.benchmark("aime-sample").problems[0]
    model = load_model("nanochat/sft", make_config(benchmark="b", model="nanochat/sft"))
    request = Request(
        benchmark="b", problem_id="1", key="k", statement="?", prompt=Prompt(messages=asked_about(problem)),
        samples=tuple(range(16)), seeds=(1,) * 16, sampling=Sampling(temperature=0.8, max_tokens=1000),
    )  # fmt: skip

    async def asking():
        dropped = asyncio.create_task(model.generate(request))
        waiting = asyncio.create_task(model.generate(request))
        await asyncio.sleep(0)
        dropped.cancel()
        return await asyncio.gather(dropped, waiting, return_exceptions=True)

    dropped, waiting = asyncio.run(asking())
    assert isinstance(dropped, asyncio.CancelledError)
    assert len(waiting) == 16


def test_model_when_a_checkpoint_does_not_fit_then_one_sentence(tmp_path):
    file = tmp_path / "base" / "chatsft_checkpoints" / "d20" / "model_000650.pt"
    file.write_text(json.dumps({"answers": {}, "luck": -1}))
    with pytest.raises(ModelError, match="cannot load sft on cpu: Tokenizer vocab size"):
        load_model("nanochat/sft", make_config(benchmark="b", model="nanochat/sft", extra_field=("device_type=cpu",)))


def test_model_when_nanochat_dir_is_no_checkout_then_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("NANOCHAT_DIR", str(tmp_path))
    with pytest.raises(ModelError, match=f"NANOCHAT_DIR is {tmp_path}, and there is no folder nanochat in it"):
        load_model("nanochat/sft", make_config(benchmark="b", model="nanochat/sft"))


def test_model_when_nanochat_is_not_importable_then_says_how_to_make_it_so(monkeypatch):
    monkeypatch.delenv("NANOCHAT_DIR")
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != str(CHECKOUT)])
    with pytest.raises(ModelError, match="set NANOCHAT_DIR"):
        load_model("nanochat/sft", make_config(benchmark="b", model="nanochat/sft"))
