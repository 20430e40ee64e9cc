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
from markscheme.runs.folder import Run

pytestmark = pytest.mark.needs("torch", "transformers", "fastapi", "uvicorn")


@pytest.fixture(scope="module")
def serve(tiny_llama, tmp_path_factory):
    """Start the server on a port; returns its process."""
    folder = tmp_path_factory.mktemp("serve")
    started = []

    def serve(port):
        command = [str(Path(sys.executable).parent / "transformers"), "serve", str(tiny_llama), "--port", str(port)]
        log = (folder / "serve.log").open("a")
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


@pytest.fixture(scope="module")
def served(serve):
    """A server that is up, for all tests of the module: each start takes it six seconds of a core."""
    port = free_port()
    server = serve(port)
    wait_for(port, server)
    return server, port


def test_transformers_serve_when_asked_then_whole_runs_over_chat_and_completions(
    served, tiny_llama, tmp_path, monkeypatch, capsys
):
    _, port = served
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(5)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for api in ("chat", "completions"):
        status = main(
            [
                *("run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--model", f"openai/{tiny_llama}", "-t", "0"),
                *("--base-url", f"http://localhost:{port}/v1", "--api", api, "--max-tokens", "8", "-n", "2", "--json"),
                *("--out", api),
            ]
        )
        assert status == 0, capsys.readouterr().err
        run = Run.open(tmp_path / api)
        responses = list(run.responses())
        assert len(responses) == 10
        assert all(1 <= (one.completion_tokens or 0) <= 8 for one in responses)
        assert "length" in {one.finish_reason for one in responses}
        assert all(one.prompt_tokens and one.prompt_tokens > 10 for one in responses)
        assert any(one.text for one in responses)
        # Greedy: the two samples of a problem are the same text.
        assert len({(one.key, one.text) for one in responses}) == 5
        assert run.manifest.server_model


def test_transformers_serve_when_it_dies_in_mid_run_and_comes_back_then_the_run_completes(
    served, serve, tiny_llama, tmp_path
):
    """The last test of the module: it leaves another server behind."""
    server, port = served
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        *(sys.executable, "-m", "markscheme", "run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--out", "run"),
        *("--model", f"openai/{tiny_llama}", "--base-url", f"http://localhost:{port}/v1", "--max-tokens", "8"),
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
