"""The loop gives what plain `generate` gives, for every kind of attention, whatever shares the batch."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markscheme.models.base import Completion, RequestFailed
from markscheme.models.batching import Entry, Row
from markscheme.types import Sampling

pytestmark = pytest.mark.needs("torch", "transformers")

SMALL = {
    "vocab_size": 200, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "eos_token_id": 1, "pad_token_id": 0,
    "bos_token_id": None, "initializer_range": 0.5,
}  # fmt: skip

KINDS = {
    "Llama": {},
    "Qwen2": {},
    "Qwen3": {},
    "Mistral": {"sliding_window": 9},  # much shorter than prompts and answers
    "Gemma2": {"sliding_window": 9, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 10.0},
    "GPT2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 512},
    "Olmo2": {},
    "Phi3": {"num_key_value_heads": 4},
    "Gemma3Text": {"sliding_window": 9, "sliding_window_pattern": 2},
    "Olmo3": {"sliding_window": 9},
    "Ministral": {"sliding_window": 9},
    "SmolLM3": {},
    "Glm4": {"partial_rotary_factor": 0.5},
    "Qwen3Moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    "NanoChat": {},  # a checkpoint of nanochat in Hugging Face's form
    "GptOss": {"sliding_window": 9, "num_local_experts": 4, "num_experts_per_tok": 2},  # sinks beside the scores
}


class Job:
    """Takes completions as a request would."""

    class future:  # noqa: N801
        given_up = False

        @classmethod
        def cancelled(cls):
            return False

    def __init__(self):
        self.done = {}

    def settle(self, index, completion):
        self.done[index] = completion

    def tell(self, tell):
        raise AssertionError("a row failed")


class Words:
    """As little of a tokenizer as an ending needs."""

    added_tokens_decoder = {}  # noqa: RUF012
    pad_token_id = 0
    eos_token_id = 1

    def decode(self, tokens, **_):
        return " ".join(map(str, tokens))


def make(kind, **more):
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.manual_seed(3)
    config = getattr(transformers, f"{kind}Config")(**{**SMALL, **KINDS.get(kind, {}), **more})
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def engine_of(model, **options):
    from markscheme.models.local.endings import Endings
    from markscheme.models.local.engine import Engine
    from markscheme.models.local.loading import adopt

    if not hasattr(model, "adopted"):
        model.adopted = adopt(model)
    forward, why = model.adopted
    assert forward is not None, why
    stems = not any(kind != "full_attention" for kind in getattr(model.config, "layer_types", None) or ())
    return Engine(forward, Endings(Words(), [1], "m"), **{"slots": 5, "budget": 1 << 30, "stems": stems, **options})


def generate(engine, rows):
    import torch

    job = Job()
    with torch.inference_mode():
        engine.add([Entry(row, job, index) for index, row in enumerate(rows)])
        while engine.busy:
            engine.step()
    return [job.done[index] for index in range(len(rows))]


def rows_of(*prompts, samples=1, room=24, **sampling):
    asked = Sampling(**{"temperature": 0.0, **sampling})
    return [
        Row(list(prompt), 100 * place + sample, room, asked)
        for place, prompt in enumerate(prompts)
        for sample in range(samples)
    ]


def prompts_of(number, shared=0):
    import random

    luck = random.Random(1)
    begin = [luck.randrange(2, 200) for _ in range(shared)]
    return [begin + [luck.randrange(2, 200) for _ in range(luck.randrange(1, 40))] for _ in range(number)]


def plain(model, row):
    import torch

    with torch.inference_mode():
        ids = torch.tensor([row.tokens])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=row.room, do_sample=False)
    return out[0, len(row.tokens) :].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_engine_when_greedy_then_the_tokens_of_plain_generate(kind):
    model = make(kind)
    rows = rows_of(*prompts_of(13), prompts_of(1, shared=150)[0])
    expected = [plain(model, row) for row in rows]
    found = generate(engine_of(model), rows)
    for completion, tokens in zip(found, expected, strict=True):
        written = [token for token in tokens if token != 1]
        assert completion.text == Words().decode(written)
        assert completion.finish_reason == ("stop" if 1 in tokens else "length")


@pytest.mark.parametrize(
    ("kind", "more", "reason"),
    [
        # The first two were once taken and gave other texts; the third would, with texts longer than are tried out.
        ("DeepseekV4", {}, "heavily_compressed_attention"),
        ("Moshi", {"sliding_window": 9}, "window does not reach"),
        ("Phi3", {"rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4,
            "original_max_position_embeddings": 64, "factor": 8.0,
        }, "original_max_position_embeddings": 64}, "stretch"),
        ("Mamba", {}, ""),
        ("Jamba", {}, ""),
        ("Bloom", {}, ""),
    ],
)  # fmt: skip
def test_adopt_when_attention_is_of_another_kind_then_the_model_is_left_to_plain_generate(kind, more, reason):
    from markscheme.models.local.loading import adopt

    model = make(kind, **more)
    before = model.config._attn_implementation
    forward, why = adopt(model)
    assert forward is None
    assert "does not suit this model" in why
    assert reason in why
    assert model.config._attn_implementation == before


@pytest.mark.parametrize("kind", ["Llama", "Gemma3Text", "GPT2", "GptOss"])
@settings(max_examples=5, deadline=None)
@given(slots=st.integers(1, 20), order=st.randoms(use_true_random=False), shared=st.sampled_from([0, 140]))
def test_engine_when_slots_order_and_company_are_any_then_a_seed_gives_the_same_text(kind, slots, order, shared):
    model = _cached(kind)
    rows = rows_of(*prompts_of(4, shared=shared), samples=2, temperature=0.8, room=12)
    expected = {
        (tuple(row.tokens), row.seed): one.text for row, one in zip(rows, generate(engine_of(model), rows), strict=True)
    }
    order.shuffle(rows)
    some = rows[: max(1, slots)]
    for row, one in zip(some, generate(engine_of(model, slots=slots), some), strict=True):
        assert one.text == expected[tuple(row.tokens), row.seed]


@cache
def _cached(kind):
    return make(kind, initializer_range=0.1)


def test_engine_when_slots_stems_and_company_differ_then_a_seed_gives_the_same_text():
    prompts = prompts_of(7, shared=160)
    rows = rows_of(*prompts, samples=3, temperature=0.8)
    model = make("Llama", initializer_range=0.1)
    many = generate(engine_of(model, slots=64), rows)
    few = generate(engine_of(model, slots=2), rows)
    alone = [generate(engine_of(model, stems=False), [row])[0] for row in rows[:4]]
    assert [one.text for one in many] == [one.text for one in few]
    assert [one.text for one in many[:4]] == [one.text for one in alone]
    assert len({one.text for one in many}) == len(rows)


def test_engine_when_prompts_begin_alike_then_that_part_is_computed_once():
    import torch

    seen = []
    engine = engine_of(make("Llama"))
    forward = engine._forward
    engine._forward = lambda tokens, positions, keep: (seen.append(tokens.shape[1]), forward(tokens, positions, keep))[
        1
    ]
    prompts = prompts_of(6, shared=200)
    with torch.inference_mode():
        generate(engine, rows_of(*prompts, samples=4, room=1))
    assert sum(seen) <= 200 + sum(len(prompt) - 200 for prompt in prompts)  # and each prompt once for its four samples


def test_engine_when_memory_runs_out_then_fewer_slots_and_the_same_texts():
    import torch

    model = make("Llama", initializer_range=0.1)
    rows = rows_of(*prompts_of(9), samples=2, temperature=0.8)
    expected = generate(engine_of(model, slots=16), rows)
    engine = engine_of(model, slots=16)
    forward, sizes = engine._forward, []

    def small_machine(tokens, positions, keep):
        sizes.append(len(keep))
        if len(keep) > 4:
            raise torch.OutOfMemoryError("no more")
        return forward(tokens, positions, keep)

    engine._forward = small_machine
    found = generate(engine, rows)
    assert max(sizes) > 4
    assert engine.slots <= 4
    assert [one.text for one in found] == [one.text for one in expected]
    tight = engine_of(model, slots=16, budget=200_000)
    assert [one.text for one in generate(tight, rows)] == [one.text for one in expected]


def test_engine_when_cohorts_become_too_many_then_they_are_joined_and_the_texts_stay(monkeypatch):
    from markscheme.models.local import engine as loop

    model = make("Llama", initializer_range=0.1)
    rows = rows_of(*prompts_of(12), samples=2, temperature=0.8)
    expected = generate(engine_of(model, slots=16), rows)
    joined, take = [], loop.Cohort.take
    monkeypatch.setattr(loop, "COHORTS", 1)
    monkeypatch.setattr(loop, "APART", 2)
    monkeypatch.setattr(loop.Cohort, "take", lambda self, other: (joined.append(other), take(self, other))[1])
    found = generate(engine_of(model, slots=16), rows)
    assert joined
    assert [one.text for one in found] == [one.text for one in expected]


def test_engine_when_a_pass_breaks_then_every_row_is_told_and_none_is_left():
    engine, told = engine_of(make("Llama")), []
    job = Job()
    job.tell = told.append
    rows = rows_of(*prompts_of(9))
    engine.add([Entry(row, job, index) for index, row in enumerate(rows)])
    engine.step()
    engine.step()

    def breaks(*_):
        raise ValueError("a broken kernel")

    engine._forward = breaks
    with pytest.raises(ValueError, match="a broken kernel") as broken:
        engine.step()
    engine.fail(broken.value)
    assert len(told) == len(rows) - len(job.done) > engine.slots  # those under way, and those that waited
    assert not engine.busy


def test_memory_when_a_container_allows_less_than_the_machine_has_then_that_much_is_free(tmp_path, monkeypatch):
    import torch

    from markscheme.models.local import loading

    machine = loading.free_memory(torch.device("cpu"))
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.stat").write_text("anon 1000000\nfile 1900000\n")  # files give way
    monkeypatch.setattr(loading, "CONTAINER", [(tmp_path, "memory.max", "anon")])
    assert loading.free_memory(torch.device("cpu")) == 2_000_000 < machine
    (tmp_path / "memory.max").write_text("max\n")
    assert loading.free_memory(torch.device("cpu")) > 2_000_000


def test_engine_when_one_row_alone_is_too_much_then_its_request_fails_and_says_why():
    import torch

    engine = engine_of(make("Llama"))

    def no_memory(*_):
        raise torch.OutOfMemoryError("tried to allocate 9 GiB\nand more")

    engine._forward = no_memory
    failures = []
    job = Job()
    job.tell = lambda tell: failures.append(tell)
    job.future.set_exception = staticmethod(lambda error: failures.append(error))
    engine.add([Entry(rows_of([5, 6])[0], job, 0)])
    while engine.busy:
        engine.step()
    failures[0]()
    assert isinstance(failures[1], RequestFailed)
    assert str(failures[1]) == "tried to allocate 9 GiB"


def test_engine_when_log_probabilities_are_asked_for_then_those_of_the_model_itself():
    import torch

    model = make("Qwen3", initializer_range=0.1)
    reference = make("Qwen3", initializer_range=0.1)
    (row,) = rows_of(prompts_of(1)[0], temperature=0.7, top_k=20)
    (found,) = generate(engine_of(model, logprobs=True), [row])
    tokens = [int(word) for word in found.text.split()]
    with torch.inference_mode():
        logits = reference(torch.tensor([row.tokens + tokens])).logits[0, len(row.tokens) - 1 : -1]
    expected = logits.log_softmax(-1).gather(-1, torch.tensor(tokens)[:, None]).squeeze(-1)
    assert found.metadata["logprobs"][: len(tokens)] == pytest.approx(expected.tolist(), abs=1e-4)


def test_engine_when_a_stop_text_is_written_then_the_row_ends_there_and_not_later():
    model = make("Llama", initializer_range=0.1)
    (row,) = rows_of(prompts_of(1)[0], temperature=1.0, room=60)
    (whole,) = generate(engine_of(model), [row])
    words = whole.text.split()
    stop = f"{words[9][-1]} {words[10]}"
    (stopped,) = generate(engine_of(model), rows_of(row.tokens, temperature=1.0, room=60, stop=(stop,)))
    assert stopped.text == whole.text[: whole.text.index(stop)]
    assert stopped.finish_reason == "stop"
    assert stopped.completion_tokens <= 12
    assert isinstance(stopped, Completion)


def test_draws_when_many_seeds_draw_then_the_frequencies_are_the_probabilities():
    import torch

    from markscheme.models.local.draws import choose, uniforms_of

    logits = torch.tensor([2.0, 1.0, 0.0, -1.0, 0.5])
    draws = 8000
    luck = torch.tensor([float(uniforms_of(seed, 1)[0]) for seed in range(draws)], dtype=torch.float64)
    chosen = choose(logits.repeat(draws, 1), luck, Sampling(temperature=0.7, top_k=4))
    counts = torch.bincount(chosen, minlength=5).float()
    kept = torch.tensor([2.0, 1.0, 0.0, float("-inf"), 0.5])  # the four likeliest
    expected = torch.softmax(kept / 0.7, dim=0) * draws
    assert counts[3] == 0
    likely = expected > 0
    chi_squared = (((counts - expected) ** 2)[likely] / expected[likely]).sum()
    assert chi_squared < 16.3  # three degrees of freedom: a fair sampler exceeds this once in a thousand


@pytest.mark.parametrize("top_p", [0.1, 0.5, 0.9, 0.999])
def test_draws_when_top_p_is_given_then_as_numpys_in_nano(top_p):
    import numpy as np
    import torch

    from markscheme.models.local.draws import choose
    from markscheme.nano.transformer import choose as in_numpy

    luck = np.random.default_rng(4).random(500, dtype=np.float32)
    logits = np.random.default_rng(5).normal(size=(500, 700)).astype(np.float32) * 2
    found = choose(
        torch.tensor(logits), torch.tensor(luck, dtype=torch.float64), Sampling(temperature=0.9, top_p=top_p)
    )
    expected = in_numpy(logits, luck, 0.9, None, top_p)
    assert (found.numpy() == expected).mean() > 0.99  # sums over a vocabulary round
