"""Batch APIs against a server that follows their references: half the requests lost, killed in between, refused, mixed."""

import json
import re
import time
from contextlib import suppress

import pytest
from aiohttp import web
from batch_server import BatchServer

import markscheme as ms
from markscheme.errors import ModelError
from markscheme.running import batch_asking
from markscheme.running.batch_asking import open_batches


def add(text):
    first, second = map(int, re.search(r"What is (\d+) \+ (\d+)", text).groups())
    return f"ANSWER: {first + second}"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(batch_asking, "LOOK_FIRST", 0.05)
    monkeypatch.setattr(batch_asking, "LOOK_LAST", 0.05)
    monkeypatch.setattr("markscheme.models.transport.CALL_AGAIN", (0.05, 0.05))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-0123456789")


@pytest.fixture
def ask(sums, tmp_path):
    """Ask ten sums, three samples each, of a server."""

    def ask(server, model="openai/m", **options):
        url = server.url if model.startswith("openai") else server.url.removesuffix("/v1")
        asked = {"samples": 3, "batch": True, "out": tmp_path / "run", "progress": False, **options}
        return ms.run(str(sums(10)), model=model, base_url=url, **asked)

    return ask


PROVIDERS = pytest.mark.parametrize("model", ["openai/m", "anthropic/m"])


@PROVIDERS
def test_batch_when_everything_is_answered_then_each_once_and_marked(ask, model):
    with BatchServer(add) as server:
        run = ask(server, model)
    assert (run.manifest.status, run.accuracy) == ("complete", 1.0)
    assert len(run) == 30
    assert set(server.asked.values()) == {1}
    assert not open_batches(run.path)
    assert run.manifest.usage.completion_tokens == 150


@PROVIDERS
def test_batch_when_some_requests_expire_then_they_are_missing_and_resume_asks_only_those(ask, model):
    with BatchServer(add, lost=lambda own: "expired" if own.endswith("_1") else "") as server:
        run = ask(server, model)
        assert run.snapshot().missing == 10
        assert run.snapshot().failures().keys() == {"expired"}
        server.lost = lambda own: ""
        run.resume(progress=False)
    assert (run.manifest.status, run.accuracy) == ("complete", 1.0)
    assert {own.rpartition("_")[2] for own, times in server.asked.items() if times == 2} == {"1"}
    assert max(server.asked.values()) == 2


def test_batch_when_the_rest_is_asked_one_by_one_then_both_ways_make_one_run(ask):
    with BatchServer(add, lost=lambda own: "expired" if own.endswith("_2") else "") as server:
        run = ask(server)
        run.resume(progress=False, batch=False)
    assert run.manifest.status == "complete"
    assert sum(server.direct.values()) == 10
    assert sum(server.asked.values()) == 30


@PROVIDERS
def test_batch_when_the_process_is_killed_while_waiting_then_resume_fetches_what_was_paid_for(
    model, sums, process, tmp_path
):
    with BatchServer(add, patience=10**9) as server:
        url = server.url if model.startswith("openai") else server.url.removesuffix("/v1")
        options = ["--model", model, "--base-url", url, "-n", "3", "--batch", "--out", tmp_path / "run"]
        asking = process("run", sums(10), *options)
        end = time.monotonic() + 200
        while not server.looks:
            assert asking.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        asking.kill()
        asking.wait()
        assert len(open_batches(tmp_path / "run")) == 1
        server.patience = 1
        run = ms.resume(tmp_path / "run", progress=False)
    assert run.manifest.status == "complete"
    assert set(server.asked.values()) == {1}


@PROVIDERS
def test_batch_when_the_answer_to_handing_over_is_lost_then_it_is_not_handed_over_again(ask, model):
    with BatchServer(add, forget_after=1) as server:
        run = ask(server, model)
    assert run.manifest.status == "complete"
    assert set(server.asked.values()) == {1}


@PROVIDERS
def test_batch_when_the_process_ended_before_it_noted_the_id_then_the_batch_is_found_again(ask, model, tmp_path):
    with BatchServer(add) as server:
        run = ask(server, model)
        for name in (
            "responses.jsonl",
            "batches.jsonl",
        ):  # as a kill would leave them: nothing came, only the intent is noted
            file = run.path / name
            file.write_bytes(file.read_bytes().splitlines(keepends=True)[0] if name == "batches.jsonl" else b"")
        assert [note.id for note in open_batches(run.path).values()] == [None]
        again = ms.resume(run.path, progress=False)
    assert again.snapshot().answered == 30
    assert set(server.asked.values()) == {1}


def test_batch_when_refused_as_a_whole_then_the_providers_words_are_told(ask):
    with (
        BatchServer(add, refuse="the model does not exist") as server,
        pytest.raises(ModelError, match="does not exist"),
    ):
        ask(server)


def test_batch_when_a_request_is_refused_then_its_reason_is_kept(ask):
    with BatchServer(add, lost=lambda own: "seed is not allowed" if own.endswith("_0") else "") as server:
        run = ask(server)
    assert "seed is not allowed" in run.snapshot().failures()["bad_request"].example


def test_batch_when_there_are_many_requests_then_they_go_in_several(ask, monkeypatch):
    monkeypatch.setattr("markscheme.models.batches.OpenAIBatches.most_requests", 12)
    with BatchServer(add) as server:
        run = ask(server)
    assert len(server.batches) == 3
    assert run.manifest.status == "complete"
    assert set(server.asked.values()) == {1}


def test_batch_when_the_model_has_no_such_api_then_one_sentence_says_so(tmp_path):
    with pytest.raises(ModelError, match="leave --batch out"):
        ms.run("countdown-sample", model="solver", batch=True, limit=2, out=tmp_path / "run", progress=False)


def test_batch_when_prices_are_known_then_it_costs_half(ask, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text('as_of = "2026-01-01"\n[models.m]\ninput = 2.0\noutput = 8.0\n')
    with BatchServer(add) as server:
        run = ask(server, prices=str(prices))
    assert run.manifest.usage.cost == pytest.approx((300 * 1.0 + 150 * 4.0) / 1e6)


@pytest.mark.needs("openai")
def test_server_when_asked_by_openais_own_client_then_it_answers_as_that_expects(tmp_path):
    """Our stand-in against the client that somebody else wrote: what it takes, we may send."""
    from openai import OpenAI

    body = {"model": "m", "messages": [{"role": "user", "content": "What is 1 + 2?"}]}
    line = {"custom_id": "a_0", "method": "POST", "url": "/v1/chat/completions", "body": body}
    (tmp_path / "in.jsonl").write_text(json.dumps(line) + "\n")
    with BatchServer(add, patience=1) as server, OpenAI(base_url=server.url, api_key="none") as client:
        file = client.files.create(file=(tmp_path / "in.jsonl").open("rb"), purpose="batch")
        made = client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"a": "b"}
        )
        done = client.batches.retrieve(made.id)
        assert (done.status, done.request_counts.completed) == ("completed", 1)
        assert json.loads(client.files.content(done.output_file_id).text)["response"]["body"]["choices"]


def test_batch_when_nobody_listens_then_it_is_said_soon_and_no_folder_stays(sums, tmp_path):
    with pytest.raises(ModelError, match="cannot connect"):
        ms.run(str(sums(2)), model="openai/m", base_url="http://127.0.0.1:9/v1", batch=True, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_batch_when_the_provider_goes_away_while_waiting_then_the_folder_with_the_paid_batch_stays(ask, tmp_path):
    with BatchServer(add) as server:
        server.refuse_looks = True
        with pytest.raises(ModelError, match="resume"):
            ask(server)
        server.refuse_looks = False
        run = ms.resume(tmp_path / "run", progress=False)
    assert run.manifest.status == "complete"
    assert set(server.asked.values()) == {1}


@PROVIDERS
def test_batch_when_an_answer_breaks_off_or_is_no_json_then_it_is_read_again_and_each_line_counts_once(
    ask, model, monkeypatch
):
    spoiled = []

    async def cut(request, whole):
        """The first answer of each address breaks off in the middle; a list's is no JSON instead."""
        if request.method != "GET" or request.path in spoiled:
            return whole
        spoiled.append(request.path)
        if request.path.endswith("batches"):
            return web.Response(text="{half", content_type="application/json")
        answer = web.StreamResponse(headers={"Content-Length": str(len(whole.body))})
        await answer.prepare(request)
        await answer.write(whole.body[: len(whole.body) // 2])
        request.transport.close()
        return answer

    monkeypatch.setattr(BatchServer, "spoil", staticmethod(cut))
    with BatchServer(add) as server:
        run = ask(server, model)
    assert (run.manifest.status, run.accuracy, len(run)) == ("complete", 1.0, 30)
    assert len((run.path / "responses.jsonl").read_bytes().splitlines()) == 30
    assert set(server.asked.values()) == {1}
    assert len(spoiled) == 3


ENDED = {"status": "completed", "processing_status": "ended", "output_file_id": 3}


@PROVIDERS
@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("POST", {}),
        ("POST", {"id": {"a": 1}}),
        ("POST", ["x"]),
        ("GET", ENDED | {"data": ["x"], "id": 1}),
        ("GET", ENDED | {"data": 5, "status": "failed", "errors": {"data": {"a": "b"}}}),
        ("GET", ENDED | {"data": [{"metadata": {"markscheme": ""}, "id": [], "request_counts": {"a": -1}}]}),
    ],
)
def test_batch_when_the_provider_answers_nonsense_then_one_sentence(ask, monkeypatch, model, method, answer):
    async def nonsense(request, whole):
        right = request.method != method or request.path.endswith("content")
        return whole if right else web.json_response(answer)

    monkeypatch.setattr(BatchServer, "spoil", staticmethod(nonsense))
    nothing = method == "POST" and model == "openai/m"  # of Anthropic's, the batch that was made is found again
    refused = pytest.raises(ModelError, match="without an id") if nothing else suppress(ModelError)
    with BatchServer(add) as server, refused:
        ask(server, model)
