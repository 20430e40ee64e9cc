"""The numpy transformer: the logits of the transformers library, and draws that depend on nothing but their luck."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from markscheme.nano import WEIGHTS, load
from markscheme.nano.tokenizer import EOS, encode
from markscheme.nano.transformer import choose, generate

PROMPTS = [encode(f"{a} {b} 18 35 > {target} ?") for a, b, target in ((41, 70, 46), (3, 99, 12), (7, 8, 100))]


def luck(rows, steps=64, seed=1):
    return np.random.default_rng(seed).random((rows, steps), dtype=np.float32)


@pytest.mark.needs("torch", "transformers")
def test_logits_when_compared_with_transformers_then_equal_to_a_ten_thousandth():
    import torch
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(WEIGHTS, dtype=torch.float32)
    tokens = np.random.default_rng(0).integers(3, 1016, (8, 100))
    with torch.no_grad():
        expected = theirs(input_ids=torch.from_numpy(tokens)).logits.numpy()
    model = load()
    cache = model.new_cache(8, 100)
    # A prompt, then a chunk, then one by one: every way of using the cache.
    pieces = [tokens[:, :7], tokens[:, 7:40], *np.split(tokens[:, 40:], 60, axis=1)]
    ours = np.concatenate([model.forward(piece, cache) for piece in pieces], axis=1)
    assert np.abs(ours - expected).max() < 1e-4


@pytest.mark.needs("torch", "transformers")
def test_greedy_text_when_compared_with_transformers_then_the_same():
    import torch
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(WEIGHTS, dtype=torch.float32)
    inputs = torch.tensor(PROMPTS)
    written = theirs.generate(inputs, attention_mask=torch.ones_like(inputs), do_sample=False, max_new_tokens=64)
    for ours, row in zip(generate(load(), PROMPTS, luck(3), end=EOS, temperature=0), written.tolist(), strict=True):
        assert row[len(PROMPTS[0]) :][: len(ours)] == ours


def test_samples_when_batched_differently_then_the_same_text():
    prompts = [prompt for prompt in PROMPTS for _ in range(5)]
    draws = luck(15)
    with threadpool_limits(1, user_api="blas"):  # as the backend has it
        together = generate(load(), prompts, draws, end=EOS, temperature=0.8)
        alone = [
            generate(load(), prompts[i : i + 1], draws[i : i + 1], end=EOS, temperature=0.8, top_k=None)[0]
            for i in range(15)
        ]
    assert together == alone
    assert len(set(map(tuple, together))) > 3


def test_text_when_there_is_no_room_then_cut_off_without_an_end():
    (written,) = generate(load(), PROMPTS[:1], luck(1, steps=5), end=EOS, temperature=0)
    assert len(written) == 5
    assert EOS not in written


logits = st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=12)


@settings(max_examples=100, deadline=None)
@given(row=logits, at=st.floats(0, 1, exclude_max=True, width=32), top_k=st.none() | st.integers(1, 12))
@example(row=[0.0, -1e-9], at=0.75, top_k=1)  # two logits whose chances are one float32
def test_draw_when_top_k_then_among_the_likeliest(row, at, top_k):
    array = np.array([row], dtype=np.float32)
    (drawn,) = choose(array, np.array([at], dtype=np.float32), 0.8, top_k)
    allowed = sorted(row, reverse=True)[: top_k or len(row)]
    assert array[0, drawn] >= np.float32(allowed[-1])


@settings(max_examples=100, deadline=None)
@given(row=logits, at=st.floats(0, 1, exclude_max=True, width=32), top_p=st.floats(0.01, 1))
def test_draw_when_top_p_then_never_beyond_the_nucleus(row, at, top_p):
    array = np.array([row], dtype=np.float32)
    (drawn,) = choose(array, np.array([at], dtype=np.float32), 1.0, None, top_p)
    chances = np.exp(array[0] - array[0].max())
    likelier = chances[chances > chances[drawn]].sum() / chances.sum()
    assert likelier <= top_p + 1e-5


def test_draws_when_many_then_as_often_as_the_softmax_says():
    array = np.tile(np.array([[0.0, 1.0, 2.0, -1.0]], dtype=np.float32), (20_000, 1))
    drawn = choose(array, luck(20_000, 1)[:, 0], 0.5)
    expected = np.exp(array[0] / 0.5) / np.exp(array[0] / 0.5).sum()
    assert np.abs(np.bincount(drawn, minlength=4) / 20_000 - expected).max() < 0.015


@pytest.mark.parametrize("temperature", [0.0, 1e-50, 1e-20, 1e-7])
def test_draw_when_it_is_next_to_no_temperature_then_the_likeliest(temperature):
    array = np.array([[0.0, 3.0, 2.9, -1.0]], dtype=np.float32)
    assert choose(array, np.array([0.999], dtype=np.float32), temperature) == [1]
