"""`hf/PATH` on a real, tiny Llama."""

import asyncio
import shutil

import msgspec
import pytest

import markscheme as ms
from markscheme.config import make_config
from markscheme.errors import ModelError, UsageError
from markscheme.models import load_model
from markscheme.models.base import Request, RequestFailed
from markscheme.types import Message, Prompt, Sampling

pytestmark = pytest.mark.needs("torch", "transformers")


@pytest.fixture(scope="module")
def model(tiny_llama):
    return load_model(f"hf/{tiny_llama}", make_config(benchmark="b", model="hf", extra_field=("batch_size=3",)))


def request(text, *seeds, **sampling):
    return Request(
        benchmark="b",
        problem_id="1",
        key="k",
        statement=text,
        prompt=Prompt(messages=(Message("user", text),)),
        samples=tuple(range(len(seeds))),
        seeds=seeds,
        sampling=Sampling(**{"max_tokens": 12, **sampling}),
    )


def ask(model, *requests):
    async def asking():
        return await asyncio.gather(*(model.generate(one) for one in requests), return_exceptions=True)

    return asyncio.run(asking())


def test_answer_when_greedy_then_equal_to_plain_generate_of_transformers(model, tiny_llama):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_llama)
    plain = AutoModelForCausalLM.from_pretrained(tiny_llama)
    prompts = ["2+2?", "a much longer question, so that rows of one batch are padded", "?"]
    expected = []
    for prompt in prompts:
        text = f"<|user|>{prompt}<|end|><|assistant|>"  # as the template has it
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)
        with torch.no_grad():
            out = plain.generate(**ids, max_new_tokens=12, do_sample=False)
        expected.append(tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True))
    answers = ask(model, *(request(prompt, 1, temperature=0.0) for prompt in prompts))
    assert [one[0].text for one in answers] == expected
    assert answers[0][0].prompt_tokens == len("2+2?") + 3


def test_answer_when_sampled_then_a_seed_decides_whatever_else_is_in_the_batch(model):
    alone = ask(model, request("2+2?", 7, temperature=1.0))[0][0].text
    crowd = ask(
        model,
        request("2+2?", 3, 7, 9, temperature=1.0),
        request("something else entirely", 7, 8, temperature=1.0),
        request("2+2?", 7, temperature=0.0),
    )
    assert crowd[0][1].text == alone
    assert len({one.text for one in crowd[0]}) == 3
    assert crowd[2][0].text != alone


def test_answer_when_top_k_is_one_then_greedy_at_any_temperature(model):
    greedy, narrow, tiny = ask(
        model,
        request("2+2?", 1, temperature=0.0),
        request("2+2?", 1, temperature=5.0, top_k=1),
        request("2+2?", 1, temperature=1.0, top_p=1e-9),
    )
    assert greedy[0].text == narrow[0].text == tiny[0].text


def test_answer_when_it_ends_or_is_cut_then_the_finish_reason_says_so(model):
    (long,) = ask(model, request("2+2?", *range(12), temperature=2.0, max_tokens=100))
    reasons = {one.finish_reason for one in long}
    assert reasons == {"stop", "length"}  # 261 tokens, one of them the end: some samples find it, some do not
    for one in long:
        assert (one.completion_tokens == 100) is (one.finish_reason == "length")
    text = long[0].text
    stop = text[5:7]
    (stopped,) = ask(model, request("2+2?", 0, temperature=2.0, max_tokens=100, stop=(stop,)))
    assert stopped[0].text == text[: text.index(stop)]
    assert stopped[0].finish_reason == "stop"


def test_answer_when_the_prompt_is_too_long_then_that_request_fails_and_says_why(model):
    failed, fine = ask(model, request("x" * 5000, 1), request("2+2?", 1))
    assert isinstance(failed, RequestFailed)
    assert failed.kind == "context_length"
    assert fine[0].text is not None


def test_answer_when_plain_text_is_asked_for_then_no_chat_template(tiny_llama):
    base = load_model(f"hf/{tiny_llama}", make_config(benchmark="b", model="hf", api="completions"))
    (plain,) = ask(base, request("2+2?", 1))
    assert plain[0].prompt_tokens == len("2+2?")


def test_answer_when_the_stop_is_a_special_token_then_it_ends_there(model):
    (long,) = ask(model, request("2+2?", *range(12), temperature=2.0, max_tokens=100))
    (stopped,) = ask(model, request("2+2?", *range(12), temperature=2.0, max_tokens=100, stop=("<|user|>",)))
    ended = [
        (one, whole)
        for one, whole in zip(stopped, long, strict=True)
        if one.completion_tokens < whole.completion_tokens
    ]
    assert ended  # one token in 261 is the stop, 1,200 were drawn
    for one, whole in ended:
        assert one.finish_reason == "stop"
        assert whole.text.startswith(one.text)


def test_answer_when_the_template_refuses_a_system_message_then_it_leads_the_question(tiny_llama, tmp_path):
    shutil.copytree(tiny_llama, tmp_path / "picky")
    refuse = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    template = tmp_path / "picky" / "chat_template.jinja"
    template.write_text(refuse + template.read_text())
    picky = load_model(f"hf/{tmp_path / 'picky'}", make_config(benchmark="b", model="hf"))
    asked = request("2+2?", 1)
    with_system = msgspec.structs.replace(
        asked, prompt=Prompt(messages=(Message("system", "Be brief."), Message("user", "2+2?")))
    )
    only_system = msgspec.structs.replace(asked, prompt=Prompt(messages=(Message("system", "Be brief."),)))
    merged, refused = ask(picky, with_system, only_system)
    assert merged[0].prompt_tokens == len("Be brief.\n\n2+2?") + 3
    assert isinstance(refused, RequestFailed)
    assert "System role not supported" in str(refused)


def test_model_when_it_has_sampling_defaults_of_its_own_then_they_are_not_used(tiny_llama, tmp_path, model):
    import json

    copy = tmp_path / "opinionated"
    shutil.copytree(tiny_llama, copy)
    settings = json.loads((copy / "generation_config.json").read_text())
    settings |= {"do_sample": True, "temperature": 5.0, "top_k": 3, "repetition_penalty": 9.0}
    (copy / "generation_config.json").write_text(json.dumps(settings))
    opinionated = load_model(f"hf/{copy}", make_config(benchmark="b", model="hf"))
    for sampling in ({"temperature": 0.0}, {"temperature": 1.0}):
        (expected,), (found,) = (
            ask(model, request("2+2?", 4, **sampling)),
            ask(opinionated, request("2+2?", 4, **sampling)),
        )
        assert found[0].text == expected[0].text


@pytest.mark.parametrize(
    ("spec", "options", "failure", "words"),
    [
        ("hf/", {}, UsageError, "hf/PATH"),
        ("hf/x", {"extra_field": ("batches=3",)}, UsageError, "does not know --extra-field batches"),
        ("hf/x", {"extra_field": ("batch_size=0",)}, UsageError, "not a positive whole number"),
        ("hf/x", {"extra_field": ("device=gpu",)}, UsageError, "device=gpu is not a device"),
        ("hf/x", {"extra_field": ("dtype=bf16",)}, UsageError, "dtype=bf16 is not a torch dtype"),
        ("hf/x", {"extra_field": ("dtype=nn",)}, UsageError, "dtype=nn is not a torch dtype"),
        ("hf//no/such/folder", {}, ModelError, "cannot load '/no/such/folder'"),
    ],
)
def test_model_when_it_cannot_be_had_then_one_sentence(spec, options, failure, words, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(failure, match=words):
        load_model(spec, make_config(benchmark="b", model=spec, **options))


def test_run_when_the_model_is_hf_then_an_ordinary_run_that_can_be_repeated(tiny_llama, tmp_path):
    options = {"model": f"hf/{tiny_llama}", "samples": 3, "limit": 4, "max_tokens": 6, "pass_k": (1, 3)}
    first = ms.run("gsm8k-sample", fewshot=0, out=tmp_path / "a", **options)
    second = ms.run("gsm8k-sample", fewshot=0, out=tmp_path / "b", extra_field=("batch_size=2",), **options)
    texts = [{(one.key, one.sample): one.text for one in run.responses()} for run in (first, second)]
    assert texts[0] == texts[1]
    assert first.manifest.counts.keys() <= {"truncated", "no_answer", "wrong"}
    assert sum(first.manifest.counts.values()) == 12
    assert first.manifest.sampling["temperature"] == 0.8


@pytest.mark.parametrize(
    "fields",
    [
        ("engine=plain",),
        ("batch_size=64", "dtype=float32", "device=cpu"),
        pytest.param(("device_map=auto",), marks=pytest.mark.needs("accelerate")),
        # Half a minute of compiling, and many on a machine with twenty others at work.
        pytest.param(("compile=true",), marks=[pytest.mark.needs_program("gcc"), pytest.mark.timeout(900)]),
    ],
)
def test_answer_when_it_is_computed_another_way_then_the_same_texts_from_the_same_seeds(model, tiny_llama, fields):
    asked = [
        request("2+2?", 3, 7, 9, temperature=1.0),
        request("something else", 1, temperature=0.7, top_k=9, stop=("e",)),
    ]
    expected = [[one.text for one in answers] for answers in ask(model, *asked)]
    other = load_model(f"hf/{tiny_llama}", make_config(benchmark="b", model="hf", extra_field=fields))
    assert [[one.text for one in answers] for answers in ask(other, *asked)] == expected


@pytest.mark.needs("accelerate")
def test_adopt_when_layers_lie_on_disk_then_the_texts_of_a_model_in_memory(model, tiny_llama, tmp_path):
    """A device map over several places: on a machine without GPUs, memory and a file."""
    from transformers import AutoModelForCausalLM

    from markscheme.models.local.loading import adopt, make_engine

    loaded = model._loaded
    parts = {"model.embed_tokens": "cpu", "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "cpu"}
    parts |= {f"model.layers.{n}": "disk" if n else "cpu" for n in range(loaded.model.config.num_hidden_layers)}
    spread = AutoModelForCausalLM.from_pretrained(
        tiny_llama, device_map=parts, offload_folder=tmp_path, dtype="float32"
    )
    forward, why = adopt(spread)
    assert forward is not None, why
    expected = ask(model, request("2+2?", 3, temperature=1.0))[0][0].text
    other = load_model(f"hf/{tiny_llama}", make_config(benchmark="b", model="hf"))
    other._loaded.engine = lambda: make_engine(spread, forward, loaded.endings)
    assert ask(other, request("2+2?", 3, temperature=1.0))[0][0].text == expected


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_answer_when_in_half_precision_then_the_greedy_tokens_of_plain_generate(tiny_llama, dtype):
    texts = []
    for engine in ("auto", "plain"):
        fields = (f"dtype={dtype}", f"engine={engine}")
        half = load_model(f"hf/{tiny_llama}", make_config(benchmark="b", model="hf", extra_field=fields))
        assert str(half._loaded.model.dtype) == f"torch.{dtype}"
        texts.append([one[0].text for one in ask(half, *(request(f"{n}+{n}?", 1, temperature=0.0) for n in range(6)))])
    same = sum(ours == theirs for ours, theirs in zip(*texts, strict=True))
    assert same >= 4  # three digits leave ties, which the order of a sum may turn


def test_run_when_log_probabilities_are_asked_for_then_they_are_kept_with_each_response(tiny_llama, tmp_path):
    run = ms.run(
        "gsm8k-sample", model=f"hf/{tiny_llama}", limit=2, max_tokens=5, fewshot=0, out=tmp_path / "run",
        extra_field=("logprobs=true",),
    )  # fmt: skip
    for response in run.responses():
        assert len(response.metadata["logprobs"]) in (response.completion_tokens, response.completion_tokens + 1)
        assert all(number <= 0 for number in response.metadata["logprobs"])


def test_start_when_the_way_of_generating_is_chosen_then_it_is_said(model, tiny_llama, tmp_path):
    plain = load_model(f"hf/{tiny_llama}", make_config(benchmark="b", model="hf", extra_field=("engine=plain",)))
    assert asyncio.run(plain.start(tmp_path, lambda _: None)) == "hf/: plain `generate`, 16 at a time"
    assert asyncio.run(model.start(tmp_path, lambda _: None)) == "hf/: 3 slots, refilled at every step"


@pytest.mark.needs("peft")
def test_model_when_an_adapter_is_named_then_it_answers_with_it(model, tiny_llama, tmp_path):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    tuned = get_peft_model(AutoModelForCausalLM.from_pretrained(tiny_llama), LoraConfig(init_lora_weights=False))
    tuned.save_pretrained(tmp_path)
    config = make_config(benchmark="b", model="hf", extra_field=(f"adapter={tmp_path}",))
    adapted = load_model(f"hf/{tiny_llama}", config)
    (before,), (after,) = (ask(one, request("2+2?", 1, temperature=0.0)) for one in (model, adapted))
    assert after[0].text != before[0].text


def test_answer_when_the_weights_are_nanos_then_the_texts_of_numpy_from_the_same_seeds():
    from markscheme.nano import WEIGHTS

    question = ms.benchmark("countdown-sample").questions()[0]
    asked = msgspec.structs.replace(
        request("", *range(8), temperature=0.8, max_tokens=100), prompt=question.prompt, problem_id=question.problem.id
    )
    texts = []
    for spec in (f"hf/{WEIGHTS}", "nano"):
        one = load_model(spec, make_config(benchmark="countdown-sample", model=spec))
        ((*answers,),) = ask(one, asked)
        texts.append([answer.text.split() for answer in answers])
    assert texts[0] == texts[1]


def test_plain_generate_when_memory_runs_out_then_in_halves_and_one_row_alone_fails_with_the_reason():
    import torch

    from markscheme.models.hf import _PlainGenerate

    class Small(_PlainGenerate):
        room = 2

        def _complete(self, rows):
            if len(rows) > self.room:
                raise torch.OutOfMemoryError("tried to allocate 9 GiB\nand more")
            return [f"answer {row}" for row in rows]

    small = Small(None, None, None, lambda: False)
    assert small([*range(7)]) == [f"answer {row}" for row in range(7)]
    small.room = 0
    with pytest.raises(RequestFailed, match=r"^tried to allocate 9 GiB$"):
        small([1, 2])
