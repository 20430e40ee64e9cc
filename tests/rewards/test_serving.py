"""The reward server: NeMo Gym's and OpenEnv's contracts, many at once, hostile requests, and back-pressure."""

import asyncio

import pytest
from aiohttp.test_utils import TestClient, TestServer

from markscheme.benchmarks import benchmark
from markscheme.errors import UsageError
from markscheme.rewards.serving import RewardServer


def asked(work, **options):
    """Run a conversation with a server."""

    async def go():
        async with TestClient(TestServer(RewardServer(**options).app())) as client:
            return await work(client)

    return asyncio.run(go())


def gym(text, status="completed"):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    output = [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": content}]
    question = [{"role": "user", "content": "Compute $3+4$."}]
    return {
        "responses_create_params": {"input": question},
        "response": {"output": output, "status": status},
        "expected_answer": "7",
        "id": 5,
    }


def test_verify_keeps_nemo_gyms_contract():
    async def work(client):
        answers = [
            await client.post("/verify", json=gym(*each))
            for each in [("\\boxed{7}",), ("\\boxed{3+4}",), ("7", "incomplete")]
        ]
        return [await each.json() for each in answers], (await client.post("/seed_session", json={})).status

    made, seeded = asked(work, strict="complete")
    assert [each["reward"] for each in made] == [1.0, 0.0, 0.0]
    assert made[0]["response"] == gym("\\boxed{7}")["response"]
    assert made[0]["extracted_answer"] == "7"
    assert made[0]["id"] == 5
    assert made[2]["truncated"] == 1.0
    assert seeded == 200


def test_reset_and_step_keep_openenvs_contract():
    problems = list(benchmark("gsm8k-sample").problems)[:2]

    async def work(client):
        reset = await (await client.post("/reset", json={"seed": 1, "episode_id": "e"})).json()
        right = {"message": f"ANSWER: {problems[1].gold}", "episode_id": "e"}
        step = await (await client.post("/step", json={"action": right})).json()
        again = (await client.post("/step", json={"action": right})).status
        return reset, step, again, await (await client.get("/state")).json(), (await client.get("/metadata")).status

    reset, step, again, state, metadata = asked(work, problems=problems)
    assert reset.keys() == step.keys() == {"observation", "reward", "done"}
    assert (reset["reward"], reset["done"], reset["observation"]["prompt"]) == (None, False, problems[1].statement)
    assert (step["reward"], step["done"]) == (1.0, True)
    assert again == 409
    assert state["step_count"] == 1
    assert metadata == 200


def test_many_at_once_and_hostile_requests():
    async def work(client):
        rows = [{"response": f"\\boxed{{{n}}}", "gold": "7"} for n in range(20)] + [
            {"response": None},
            {"gold": {"nums": 3}, "response": 5},
        ]
        many = await (await client.post("/score", json={"requests": rows})).json()
        bodies = [b"", b"[]", b"{", b"[" * 50_000, b'{"response": {"output": [1, {"type": "message", "content": 3}]}}']
        statuses = [(await client.post("/verify", data=body)).status for body in bodies]
        return many["results"], statuses, await (await client.get("/health")).json()

    results, statuses, health = asked(work)
    assert [each["reward"] for each in results] == [float(n == 7) for n in range(22)]
    assert all(status in (200, 422) for status in statuses)
    assert health["judged"] >= 22
    assert health["queue"] == 0


def test_full_queue_is_refused_and_health_still_answers():
    async def work(client):
        requests = [client.post("/score", json={"requests": [{"response": "1", "gold": "1"}] * 3}) for _ in range(8)]
        statuses = [(each.status, each.headers.get("Retry-After")) for each in await asyncio.gather(*requests)]
        return statuses, await (await client.get("/health")).json()

    statuses, health = asked(work, queue=4)
    assert (200, None) in statuses
    assert {status for status, _ in statuses} <= {200, 503}
    assert health["capacity"] == 4
    assert health["status"] == "healthy"


def test_wrong_options_are_told_before_it_serves():
    with pytest.raises(UsageError):
        RewardServer("no-such")
    with pytest.raises(UsageError):
        RewardServer(strict="very")
