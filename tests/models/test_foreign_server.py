"""A server that somebody else wrote: `transformers serve` with a tiny model made on the spot."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import stand_in_server

from markscheme.cli import main
from markscheme.runs.folder import Run


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


@pytest.fixture
def served(tiny_llama, tmp_path):
    """The port of a server that is up: starting it takes twelve seconds of a core."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "transformers"), "serve", str(tiny_llama), "--port", str(port)]
    with (tmp_path / "serve.log").open("a") as log:
        server = subprocess.Popen(
            [*command, "--device", "cpu"], stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"}
        )
    try:
        wait_for(port, server)
        yield port
    finally:
        server.kill()
        server.wait()


@pytest.mark.needs("torch", "transformers", "fastapi", "uvicorn")
def test_transformers_serve_when_asked_then_whole_runs_over_chat_and_completions(
    served, tiny_llama, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(5)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for api in ("chat", "completions"):
        status = main(
            [
                *("run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--model", f"openai/{tiny_llama}", "-t", "0"),
                *(
                    "--base-url",
                    f"http://localhost:{served}/v1",
                    "--api",
                    api,
                    "--max-tokens",
                    "8",
                    "-n",
                    "2",
                    "--json",
                ),
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


def test_server_when_it_dies_in_mid_run_and_comes_back_then_the_run_completes(tmp_path):
    """A server that is not ours to start again; `transformers serve` dies in tests/models/fleet/test_managed_servers.py."""
    port = free_port()
    program = stand_in_server.install(tmp_path / "bin")

    def serve():
        words = ("serve", "tiny", "--host", "127.0.0.1", "--port", port, "--latency", "0.02")
        server = subprocess.Popen([program, *map(str, words)], stdout=subprocess.DEVNULL)
        wait_for(port, server)
        return server

    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        *(sys.executable, "-m", "markscheme", "run", "sums.jsonl", "--protocol", "gsm8k-numeric", "--out", "run"),
        *("--model", "openai/tiny", "--base-url", f"http://localhost:{port}/v1", "--max-tokens", "8"),
        *("-n", "3", "--concurrency", "2", "--json", "--retry-delay", "0.1"),
    ]
    server = serve()
    try:
        asking = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        journal = tmp_path / "run" / "responses.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 10:
            assert asking.poll() is None, asking.communicate()[1]
            time.sleep(0.02)
        server.kill()
        server.wait()
        time.sleep(1)
        server = serve()
        _, said = asking.communicate(timeout=240)
    finally:
        server.kill()
        server.wait()
    assert asking.returncode == 0, said
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    assert len({(line["key"], line["sample"]) for line in lines}) == 36 == len(lines)
