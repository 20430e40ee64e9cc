"""How the driver deals with replicas that come, fail, break, wait for room and go, on a cluster that is played here."""

import asyncio
import re
import signal
import socket
from contextlib import asynccontextmanager
from types import SimpleNamespace

import msgspec
import pytest
from fake_ray import FakeRay, RayError

import markscheme as ms
from markscheme.config import make_config
from markscheme.errors import MarkschemeError, ModelError, UsageError
from markscheme.models import load_model
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.fleet import ray_actor, ray_cluster, ray_model, ray_replica
from markscheme.models.fleet.ray_placement import check, reason_of
from markscheme.types import Message, Prompt, Sampling

pytestmark = pytest.mark.needs("ray")


def request(number=0):
    return Request(
        benchmark="b", problem_id=str(number), key=str(number), statement="",
        prompt=Prompt(messages=(Message("user", "?"),)), samples=(0,), seeds=(0,), sampling=Sampling(),
    )  # fmt: skip


class Scripted(Model):
    """What a replica holds. Its place decides what it does: `does[place]` is called for every request."""

    name = "scripted"
    concurrency = 4
    does = {}  # noqa: RUF012 - set by each test
    starts = {}  # noqa: RUF012
    closed = 0

    def __init__(self):
        self.first_log = -1
        self.in_process, self.samples_per_request = True, 7

    @property
    def place(self):
        return self.first_log

    async def start(self, folder, say):
        if self.place in self.starts:
            await self.starts[self.place](say)

    async def generate(self, asked):
        if self.place in self.does:
            await self.does[self.place](asked)
        return [Completion(text=f"replica {self.place}")]

    async def close(self):
        type(self).closed += 1


@pytest.fixture
def cluster(monkeypatch):
    """A cluster with room for a hundred; replicas hold `Scripted`, and whatever takes time takes little."""
    ray = FakeRay()
    monkeypatch.setattr(ray_model, "connect", lambda _: (ray, False))
    monkeypatch.setattr(ray_actor, "load_here", lambda *_: Scripted())
    monkeypatch.setattr(ray_replica, "PAUSE", 0.01)
    monkeypatch.setattr(ray_actor, "LOOK", 0.01)
    for name, value in (("does", {}), ("starts", {}), ("closed", 0)):
        monkeypatch.setattr(Scripted, name, value)
    return ray


@asynccontextmanager
async def standing(tmp_path, said=None, **options):
    """The model, started; whatever happens inside has a minute."""
    model = load_model("solver", make_config(benchmark="b", model="solver", engine="ray", **options))
    try:
        async with asyncio.timeout(60):
            await model.start(tmp_path, (said if said is not None else []).append)
            yield model
    finally:
        await model.close()


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)


async def ask(model, number=0):
    (answer,) = await model.generate(request(number))
    return answer.text


async def ask_again(model, number=0, tries=30):
    """As the scheduler does: again, where another try can help."""
    for _ in range(tries - 1):
        try:
            return await ask(model, number)
        except RequestFailed as failure:
            if failure.fatal or not failure.retryable:
                raise
            await asyncio.sleep(0.005)
    return await ask(model, number)


async def server_is_gone(_):
    raise RequestFailed("gone", "vllm ended; it is not started again", retryable=False, fatal=True)


async def breaks(_):
    raise RuntimeError("CUDA error: an illegal memory access\nwas encountered")


@pytest.mark.parametrize("end", [server_is_gone, breaks])
def test_run_when_one_replica_can_answer_nothing_more_then_the_other_goes_on(cluster, tmp_path, end):
    async def scene():
        Scripted.does = {0: end}
        async with standing(tmp_path, replicas=2, server_restarts=0) as model:
            await until(lambda: all(copy.up for copy in model._copies))
            answers = await asyncio.gather(*(ask_again(model, number) for number in range(20)))
            assert set(answers) == {"replica 1"}
            assert "was lost" in model._copies[0].gone

    asyncio.run(scene())


def test_replica_when_its_server_is_gone_then_it_is_placed_again(cluster, tmp_path):
    async def scene():
        Scripted.does = {0: server_is_gone}
        async with standing(tmp_path, server_restarts=1) as model:
            with pytest.raises(RequestFailed, match=r"replica 0 on .* was lost: vllm ended") as failed:
                await ask(model)
            assert (failed.value.kind, failed.value.retryable, failed.value.fatal) == ("lost", True, False)
            Scripted.does = {}
            assert await ask(model) == "replica 0"
            assert len(cluster.actors) == 2

    asyncio.run(scene())


def test_run_when_every_server_is_gone_then_fatal_with_the_last_reason(cluster, tmp_path):
    async def scene():
        Scripted.does = {0: server_is_gone, 1: server_is_gone}
        async with standing(tmp_path, replicas=2, server_restarts=0) as model:
            with pytest.raises(RequestFailed, match=r"vllm ended.*--server-restarts 0") as failed:
                await ask_again(model)
            assert failed.value.fatal

    asyncio.run(scene())


def test_run_when_a_request_is_refused_for_its_own_sake_then_fatal(cluster, tmp_path):
    async def refuses(_):
        raise RequestFailed("auth", "wrong key", retryable=False, fatal=True)

    async def scene():
        Scripted.does = {0: refuses, 1: refuses}
        async with standing(tmp_path, replicas=2) as model:
            with pytest.raises(RequestFailed, match="wrong key") as failed:
                await ask(model)
            assert failed.value.fatal
            assert any(copy.up for copy in model._copies)

    asyncio.run(scene())


def test_run_when_a_request_breaks_whoever_has_it_then_fatal_before_all_replicas_are_used_up(cluster, tmp_path):
    async def scene():
        Scripted.does = dict.fromkeys(range(16), breaks)
        async with standing(tmp_path, replicas=16) as model:
            with pytest.raises(
                RequestFailed, match=r"CUDA error: an illegal .* in flight when 3 replicas crashed"
            ) as failed:
                await ask_again(model)
            assert failed.value.fatal
            assert len(cluster.actors) <= 16 + ray_model.BREAKS

    asyncio.run(scene())


def test_requests_when_a_worker_dies_then_failed_at_once_and_late_answers_are_not_taken(cluster, tmp_path):
    async def scene():
        hold = asyncio.Event()

        async def waits(_):
            await hold.wait()

        Scripted.does = {0: waits}
        async with standing(tmp_path, server_restarts=1) as model:
            asking = [asyncio.create_task(ask(model, number)) for number in range(5)]
            await until(lambda: any(name == "exchange" for name, _ in cluster.actors[0].calls))
            cluster.kill(cluster.actors[0])
            failures = await asyncio.gather(*asking, return_exceptions=True)
            assert {str(failure).partition(" was lost: ")[2] for failure in failures} == {"The actor died."}
            hold.set()
            assert await ask(model) == "replica 0"

    asyncio.run(scene())


def test_requests_when_no_replica_stands_then_asked_of_the_one_that_comes_first(cluster, tmp_path):
    async def scene():
        cluster.room = 1
        async with standing(tmp_path, replicas=2) as model:
            assert await ask(model) == "replica 0"
            cluster.room = 0
            cluster.kill(cluster.actors[0])  # the freed place goes to replica 1, which waits for longer
            assert await ask_again(model) == "replica 1"

    asyncio.run(scene())


def test_start_when_one_fails_quickly_then_the_run_begins_with_the_other_and_it_is_tried_again(cluster, tmp_path):
    async def fails(_):
        del Scripted.starts[0]
        raise RuntimeError("CUDA error: out of memory")

    async def takes_time(_):
        await asyncio.sleep(0.05)

    async def scene():
        Scripted.starts = {0: fails, 1: takes_time}
        async with standing(tmp_path, replicas=2) as model:
            assert model._copies[1].up
            await until(lambda: model._copies[0].up)

    asyncio.run(scene())


def test_start_when_one_stands_and_one_fails_in_the_same_moment_then_the_run_begins(cluster, tmp_path):
    async def fails(_):
        raise ModelError("no such model")

    async def scene():
        Scripted.starts = {0: fails}
        async with standing(tmp_path, replicas=2) as model:
            assert await ask(model) == "replica 1"

    asyncio.run(scene())


def test_start_when_all_fail_then_their_own_words_and_nobody_keeps_a_place(cluster, tmp_path):
    async def fails(_):
        raise RuntimeError("CUDA error: out of memory")

    async def scene():
        cluster.room = 1
        Scripted.starts = {0: fails, 1: fails, 2: fails}
        with pytest.raises(ModelError, match=r"replica \d on .*: RuntimeError: CUDA error: out of memory"):
            async with standing(tmp_path, replicas=3):
                pass
        assert cluster.room == 1
        assert len(cluster.actors) == 3

    asyncio.run(scene())


def test_start_when_there_is_no_room_then_says_what_is_needed(cluster, tmp_path):
    async def scene():
        cluster.room = 0
        with pytest.raises(ModelError, match=r"needs 1 core, and the cluster has 0 free cores and 0 free GPUs"):
            async with standing(tmp_path, replicas=2, server_timeout=0.05):
                pass

    asyncio.run(scene())


def test_start_when_it_hangs_then_given_up_after_the_limit(cluster, tmp_path, monkeypatch):
    async def hangs(_):
        await asyncio.sleep(60)

    async def scene():
        Scripted.starts = {0: hangs}
        monkeypatch.setattr(ray_replica, "GRACE", 0.02)
        with pytest.raises(ModelError, match=r"replica 0 on .* was not ready after 0.05 s \(--server-timeout\)"):
            async with standing(tmp_path, server_timeout=0.05):
                pass
        assert cluster.room == 100

    asyncio.run(scene())


def test_signal_when_ray_takes_it_for_itself_then_given_back(monkeypatch):
    """For the asking, whose ending it is, and for marking, whose terminal would get Ray's stack."""
    ray = pytest.importorskip("ray")
    former = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: signal.signal(signal.SIGTERM, signal.SIG_IGN))
    try:
        ray_cluster.connect("auto")
        assert signal.getsignal(signal.SIGTERM) is former
    finally:
        signal.signal(signal.SIGTERM, former)


@pytest.fixture
def head(cluster, monkeypatch):
    """Where the cluster's head listens, until it is closed."""
    monkeypatch.setattr(ray_cluster, "HEAD_GONE", 0.05)
    monkeypatch.setattr(ray_model, "LOOK", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        monkeypatch.setattr(cluster, "get_runtime_context", lambda: SimpleNamespace(gcs_address=address), raising=False)
        yield listening


GONE = "the head of the Ray cluster, 127.0.0.1:.*, has been gone for"


def test_request_when_the_head_is_gone_then_fatal_with_a_sentence_and_replicas_are_let_go(cluster, head, tmp_path):
    """Ray itself would end the process after a minute, in the middle of whatever it does."""

    async def never(_):
        await asyncio.sleep(3600)

    async def scene():
        Scripted.does = {0: never, 1: never}
        async with standing(tmp_path, replicas=2) as model:
            await until(lambda: all(copy.up for copy in model._copies))
            asked = [asyncio.create_task(ask(model, number)) for number in range(4)]
            await asyncio.sleep(0.05)
            head.close()
            for failure in await asyncio.gather(*asked, ask_again(model, 9), return_exceptions=True):
                assert isinstance(failure, RequestFailed)
                assert re.match(GONE, str(failure))
            with pytest.raises(RequestFailed, match=GONE) as failed:
                await ask(model)
            assert failed.value.fatal
        assert Scripted.closed == 2

    asyncio.run(scene())


def test_start_when_the_head_goes_meanwhile_then_it_ends_with_a_sentence(cluster, head, tmp_path):
    async def goes(_):
        head.close()
        await asyncio.sleep(3600)

    async def scene():
        Scripted.starts = {0: goes}
        with pytest.raises(ModelError, match=GONE):
            async with standing(tmp_path):
                pass

    asyncio.run(scene())


def test_head_when_it_cannot_be_reached_though_the_cluster_stands_then_it_is_not_watched(cluster, head, tmp_path):
    """Behind `ray://` its address is one of another network."""
    head.close()

    async def scene():
        async with standing(tmp_path) as model:
            await asyncio.sleep(0.2)
            assert await ask(model) == "replica 0"

    asyncio.run(scene())


def test_run_when_its_folder_is_complete_or_refused_then_no_cluster_was_touched(cluster, tmp_path, monkeypatch):
    options = {"model": "solver", "engine": "ray", "limit": 2, "out": tmp_path / "run"}
    ms.run("countdown-sample", **options)
    monkeypatch.setattr(ray_model, "connect", lambda _: pytest.fail("connected"))
    assert ms.run("countdown-sample", **options).manifest.status == "complete"
    with pytest.raises(MarkschemeError):
        ms.run("countdown-sample", temperature=0.3, **options)


def test_replica_when_it_waits_for_room_then_for_as_long_as_another_stands(cluster, tmp_path):
    async def scene():
        cluster.room = 1
        async with standing(tmp_path, replicas=2, server_timeout=0.02, server_restarts=0) as model:
            await asyncio.sleep(0.3)
            assert model._copies[1].gone is None
            assert model.room == 4
            cluster.grow(1)
            await until(lambda: model._copies[1].up)
            assert model.room == 8

    asyncio.run(scene())


def test_replica_when_the_last_other_goes_then_it_waits_for_room_as_long_again(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_replica, "LOOK", 0.02)

    async def scene():
        async with standing(tmp_path, replicas=2, server_timeout=0.5) as model:
            await until(lambda: all(copy.up for copy in model._copies))
            for place, seconds in ((1, 0.8), (0, 0.3)):  # the other stands for longer than the limit, then neither does
                cluster.room = -1
                cluster.kill(model._copies[place]._actor)
                model._copies[place]._lost("lost", "nobody was asking it, so it is told")
                await asyncio.sleep(seconds)
            cluster.grow(2)
            await until(lambda: all(copy.up or copy.gone for copy in model._copies))
            assert [copy.gone for copy in model._copies] == [None, None]

    asyncio.run(scene())


def test_run_when_nothing_stands_and_no_room_comes_then_it_ends(cluster, tmp_path):
    async def scene():
        cluster.room = 1
        async with standing(tmp_path, server_timeout=0.05) as model:
            cluster.room = -1
            cluster.kill(cluster.actors[0])
            with pytest.raises(RequestFailed, match="no room for replica 0") as failed:
                await ask_again(model)
            assert failed.value.fatal

    asyncio.run(scene())


def test_replica_when_placing_it_again_goes_wrong_in_an_unknown_way_then_gone_not_silent(cluster, tmp_path):
    async def scene():
        async with standing(tmp_path, server_restarts=2) as model:
            cluster.refuse = ValueError("a resource quantity that Ray does not like")
            cluster.kill(cluster.actors[0])
            with pytest.raises(RequestFailed, match="a resource quantity that Ray does not like") as failed:
                await ask_again(model)
            assert failed.value.fatal

    asyncio.run(scene())


def test_request_when_dropped_before_it_is_sent_then_never_sent(cluster, tmp_path):
    async def scene():
        async with standing(tmp_path) as model:
            asking = asyncio.create_task(ask(model))
            asyncio.get_running_loop().call_soon(asking.cancel)  # after it has asked, before the bundle is made
            await asyncio.gather(asking, return_exceptions=True)
            await asyncio.sleep(0.02)
            assert not any(name == "exchange" for name, _ in cluster.actors[0].calls)

    asyncio.run(scene())


def test_request_when_dropped_after_it_was_sent_then_ended_without_waiting_for_another(cluster, tmp_path):
    async def scene():
        ended = asyncio.Event()

        async def waits(_):
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        Scripted.does = {0: waits}
        async with standing(tmp_path) as model:
            asking = asyncio.create_task(ask(model))
            await until(lambda: any(name == "exchange" for name, _ in cluster.actors[0].calls))
            asking.cancel()
            await ended.wait()

    asyncio.run(scene())


def test_model_when_it_stands_then_what_its_replicas_say_of_themselves(cluster, tmp_path):
    async def scene():
        async with standing(tmp_path, replicas=2) as model:
            assert (model.in_process, model.samples_per_request) == (True, 7)
            await until(lambda: all(copy.up for copy in model._copies))
        assert Scripted.closed == 2

    asyncio.run(scene())


def test_sampling_when_the_replicas_know_better_then_theirs(cluster, tmp_path, monkeypatch):
    def as_sent(_, sampling):
        return msgspec.structs.replace(sampling, top_k=20)

    async def scene():
        asked = Sampling(temperature=0.5)
        async with standing(tmp_path, replicas=2) as model:
            await until(lambda: all(copy.up for copy in model._copies))
            assert await model.settle(asked) == asked
            monkeypatch.setattr(Scripted, "as_sent", as_sent)
            assert await model.settle(asked) == Sampling(temperature=0.5, top_k=20)
            cluster.kill(cluster.actors[0])
            assert await model.settle(asked) == Sampling(temperature=0.5, top_k=20)
            monkeypatch.setattr(Scripted, "as_sent", Model.as_sent)
            monkeypatch.setattr(Scripted, "own_sampling", True)
            assert await model.settle(asked) == Sampling()

    asyncio.run(scene())


def test_run_when_a_model_samples_in_its_own_way_then_the_manifest_claims_nothing(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(Scripted, "own_sampling", True, raising=False)
    run = ms.run("countdown-sample", model="solver", engine="ray", limit=3, samples=2, out=tmp_path / "run")
    assert (
        run.manifest.sampling
        == ms.run("countdown-sample", model="solver", limit=3, out=tmp_path / "x").manifest.sampling
    )
    assert {one.text for one in run.responses()} == {"replica 0"}
    assert ms.Run.open(tmp_path / "run").manifest.sampling == run.manifest.sampling


def test_progress_when_replicas_come_then_how_many_stand_and_what_the_next_one_says(cluster, tmp_path):
    async def loads(say):
        say("loading weights, 40 s")
        await asyncio.sleep(0.05)

    async def scene():
        cluster.room = 2
        Scripted.starts = {0: loads, 1: loads}
        said = []
        async with standing(tmp_path, said, replicas=3) as model:
            await until(lambda: said[-1] == "2 of 3 replicas ready, 1 waiting for room (1 core each)")
            cluster.grow(1)
            await until(lambda: said[-1] == "")
            assert all(copy.up for copy in model._copies)
        assert "0 of 3 replicas ready, 1 waiting for room (1 core each), replica 0: loading weights, 40 s" in said

    asyncio.run(scene())


def test_reason_when_ray_wraps_an_error_then_the_error_without_colours():
    wrapped = RayError(
        "\x1b[36mray::ReplicaActor.start()\x1b[39m (pid=7, ip=10.0.0.1)\n  File x\nRuntimeError: out of memory\n"
    )
    assert reason_of(wrapped) == "RuntimeError: out of memory"
    wrapped.cause = RuntimeError("CUDA error: out of memory\nCompile with TORCH_USE_CUDA_DSA")
    assert reason_of(wrapped) == "RuntimeError: CUDA error: out of memory"
    died = RayError(
        "The actor died unexpectedly.\n\tpid: 7\nIts worker process has died. " + "Some causes are these. " * 20
    )
    assert reason_of(died) == "Its worker process has died"
    assert reason_of(RayError()) == "RayError"


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("nosuch/x", {}, "no model backend 'nosuch'"),
        ("vllm", {}, "vllm needs a model"),
        ("nano/large", {}, "nano takes nothing after its name"),
        ("hf/./nothing-here", {}, "there is nothing at"),
        ("llamacpp/nothing.gguf", {}, "there is nothing at"),
        ("hf/m", {"gpus_per_replica": 1.5}, "--gpus-per-replica 1.5: Ray can only split a single GPU"),
        ("vllm/m", {"gpus_per_replica": 0.5}, "--gpus-per-replica 0.5: a server needs whole GPUs"),
        ("vllm/m", {"server_arg": ("port=1",)}, "--server-arg port is chosen by markscheme"),
        ("vllm/m", {"server_arg": ("tensor-parallel-size=two",)}, "is not a positive whole number"),
        ("vllm/m", {"base_url": "http://h/v1"}, "use openai/ with --base-url"),
        ("vllm/m", {"extra_field": ("temperature=warm",)}, "--extra-field replaces a sampling option"),
        ("nanochat/sft", {}, "main thread"),
    ],
)
def test_model_when_it_cannot_be_placed_then_refused_before_there_is_a_cluster_or_folder(model, options, said):
    import ray

    with pytest.raises(UsageError, match=said):
        load_model(model, make_config(benchmark="b", model=model, engine="ray", **options))
    assert not ray.is_initialized()


def test_model_when_its_path_is_relative_then_whole_for_the_workers_and_names_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkpoint").mkdir()
    config = make_config(benchmark="b", model="m", engine="ray")
    assert check("hf/checkpoint", config) == f"hf/{tmp_path / 'checkpoint'}"
    assert check("vllm/./checkpoint", config) == f"vllm/{tmp_path / 'checkpoint'}"
    assert check("vllm/Qwen/Qwen3-8B", config) == "vllm/Qwen/Qwen3-8B"
    assert check("hf//models/of/the/nodes", config) == "hf//models/of/the/nodes"


def test_head_when_a_question_to_it_fails_then_the_failure_is_raised_and_not_waited_for():
    def question():
        raise RayError("no such cluster")

    ray = SimpleNamespace(get_runtime_context=lambda: SimpleNamespace(gcs_address=""))
    with pytest.raises(RayError, match="no such cluster"):
        ray_cluster.Head(ray).ask(question)
