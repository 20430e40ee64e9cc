"""A server that somebody else wrote: `transformers serve` with a tiny model made on the spot."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from markscheme.cli import main
from markscheme.runs import Run

pytestmark = pytest.mark.needs("torch", "transformers", "fastapi", "uvicorn")

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """A Llama of two layers with random weights, and a tokenizer of bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    tokens = Tokenizer(models.BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    tokens.train_from_iterator(["ANSWER: 42"], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokens, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture
def serve(tiny_model, tmp_path):
    """Start the server on a port; returns its process."""
    started = []

    def serve(port):
        command = [str(Path(sys.executable).parent / "transformers"), "serve", str(tiny_model), "--port", str(port)]
        log = (tmp_path / "serve.log").open("a")
        process = subprocess.Popen(
            [*command, "--device", "cpu"], stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"}
        )
        started.append((process, log))
        return process

    yield serve
    for process, log in started:
        process.kill()
        process.wait()
        log.close()


def wait_for(port, process):
    deadline = time.monotonic() + 120
    while True:
        try:
            with socket.create_connection(("localhost", port), timeout=5):
                return
        except OSError:
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.3)


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


def test_transformers_serve_when_asked_then_whole_runs_over_chat_and_completions(
    serve, tiny_model, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(5)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    port = free_port()
    wait_for(port, serve(port))
    for api in ("chat", "completions"):
        status = main(
            [
                *("run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--model", f"openai/{tiny_model}", "-t", "0"),
                *("--base-url", f"http://localhost:{port}/v1", "--api", api, "--max-tokens", "8", "-n", "2", "--json"),
                *("--out", api),
            ]
        )
        assert status == 0, capsys.readouterr().err
        run = Run.open(tmp_path / api)
        responses = list(run.responses())
        assert len(responses) == 10
        assert {one.completion_tokens for one in responses} == {8}
        assert {one.finish_reason for one in responses} == {"length"}
        assert all(one.prompt_tokens and one.prompt_tokens > 10 and one.text for one in responses)
        # Greedy: the two samples of a problem are the same text.
        assert len({(one.key, one.text) for one in responses}) == 5
        assert run.manifest.server_model


def test_transformers_serve_when_it_dies_in_mid_run_and_comes_back_then_the_run_completes(
    serve, tiny_model, tmp_path, monkeypatch
):
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    port = free_port()
    server = serve(port)
    wait_for(port, server)
    command = [
        *(sys.executable, "-m", "markscheme", "run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--out", "run"),
        *("--model", f"openai/{tiny_model}", "--base-url", f"http://localhost:{port}/v1", "--max-tokens", "8"),
        *("-n", "3", "--concurrency", "2", "--json"),
    ]
    asking = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "run" / "responses.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < 10:
        assert asking.poll() is None, asking.communicate()[1]
        time.sleep(0.02)
    server.kill()
    server.wait()
    time.sleep(1)
    serve(port)
    _, said = asking.communicate(timeout=240)
    assert asking.returncode == 0, said
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    assert len({(line["key"], line["sample"]) for line in lines}) == 36 == len(lines)
