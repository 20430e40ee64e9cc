"""verifiers evaluates our environment against a server on loopback that answers every question alike."""

import asyncio
import json

import verifiers
from aiohttp import web


async def answer(request):
    body = await request.json()
    message = {"role": "assistant", "content": "The total is \\boxed{14}."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return web.json_response(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }
    )


async def main():
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    env = verifiers.load_environment("markscheme", benchmark="gsm8k-sample", limit=4, strict="tricks")
    assert env.parser.parse("So the answer is 18.") == "18"
    assert any(row["answer"] == "14" for row in env.get_dataset())
    right = [row["answer"] == "14" for row in env.get_dataset()]
    client = verifiers.ClientConfig(api_base_url=url, api_key_var="NO_SUCH_KEY")
    made = await env.evaluate(
        client, "loopback", num_examples=4, rollouts_per_example=1, state_columns=["verdict", "answer_read"]
    )
    await runner.cleanup()
    rows = made["outputs"]
    assert sorted(row["reward"] for row in rows) == sorted(map(float, right)), [row["reward"] for row in rows]
    print(
        json.dumps({"verdicts": [row.get("verdict") for row in rows], "metrics": rows[0].get("metrics")}, default=str)
    )


asyncio.run(main())
