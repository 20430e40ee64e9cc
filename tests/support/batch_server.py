"""The batch APIs of OpenAI and Anthropic on a loopback address, as their references document them; kept across restarts.

A batch is answered as soon as it is looked at for the `patience`-th time. Faults are chosen by a request's own id.
"""

import asyncio
import itertools
import json
import re
import threading
from collections import Counter

from aiohttp import web


class BatchServer:
    """`with BatchServer(answer) as server: server.url`; `answer(text)` is what the model says to a prompt."""

    def __init__(self, answer, *, patience=2, lost=lambda own: "", refuse="", forget_after=None):
        self.answer, self.patience, self.lost, self.refuse = answer, patience, lost, refuse
        self.forget_after = forget_after
        """Hang up instead of answering the request that makes batch number so and so; the batch is made all the same."""
        self.files, self.batches, self.looks = {}, {}, Counter()
        self.asked = Counter()
        """How often each request was handed over, by its own id."""
        self.direct = Counter()
        self.refuse_looks = False
        self._numbers = itertools.count(1)

    def __enter__(self):
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(200)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @staticmethod
    async def spoil(request, answer):
        """What is sent instead of an answer."""
        return answer

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, ready):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()

        @web.middleware
        async def spoiling(request, handler):
            return await self.spoil(request, await handler(request))

        app = web.Application(client_max_size=2**30, middlewares=[spoiling])
        app.add_routes([
            web.post("/v1/files", self._upload), web.get("/v1/files/{id}/content", self._content),
            web.post("/v1/batches", self._openai_create), web.get("/v1/batches", self._openai_list),
            web.get("/v1/batches/{id}", self._openai_get), web.post("/v1/chat/completions", self._chat),
            web.post("/v1/messages/batches", self._anthropic_create), web.get("/v1/messages/batches", self._anthropic_list),
            web.get("/v1/messages/batches/{id}", self._anthropic_get),
            web.get("/v1/messages/batches/{id}/results", self._anthropic_results),
        ])  # fmt: skip
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        ready.set()
        await self._stop.wait()
        await runner.cleanup()

    # OpenAI ----------------------------------------------------------------------------------------------------------

    async def _upload(self, request):
        fields = await request.post()
        assert fields["purpose"] == "batch"
        name = f"file-{next(self._numbers)}"
        self.files[name] = fields["file"].file.read()
        return web.json_response({"id": name, "object": "file", "purpose": "batch", "bytes": len(self.files[name]),
                                  "created_at": 1, "filename": fields["file"].filename, "status": "processed"})  # fmt: skip

    async def _content(self, request):
        return web.Response(body=self.files[request.match_info["id"]], content_type="application/octet-stream")

    async def _openai_create(self, request):
        asked = await request.json()
        assert asked["completion_window"] == "24h"
        assert asked["endpoint"] == "/v1/chat/completions"
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert all(line["method"] == "POST" and line["url"] == asked["endpoint"] for line in lines)
        name = f"batch_{next(self._numbers)}"
        self.batches[name] = {
            "id": name, "object": "batch", "endpoint": asked["endpoint"], "input_file_id": asked["input_file_id"],
            "completion_window": "24h", "created_at": 1, "status": "validating", "metadata": asked.get("metadata"),
            "output_file_id": None, "error_file_id": None, "errors": None,
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
        }  # fmt: skip
        self.asked.update(line["custom_id"] for line in lines)
        if self.forget_after == len(self.batches):
            request.transport.abort()
        return web.json_response(self.batches[name])

    async def _openai_list(self, _):
        return web.json_response({"object": "list", "data": [*self.batches.values()][::-1], "has_more": False})

    async def _openai_get(self, request):
        if self.refuse_looks:
            return web.json_response({"error": {"message": "down"}}, status=500)
        batch = self.batches[request.match_info["id"]]
        self.looks[batch["id"]] += 1
        if self.looks[batch["id"]] >= self.patience and batch["output_file_id"] is None:
            self._openai_finish(batch)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return web.json_response(batch)

    def _openai_finish(self, batch):
        if self.refuse:
            batch["status"] = "failed"
            batch["errors"] = {"object": "list", "data": [{"code": "invalid", "message": self.refuse, "line": 1}]}
            return
        output, errors = [], []
        for line in map(json.loads, self.files[batch["input_file_id"]].splitlines()):
            own, fault = line["custom_id"], self.lost(line["custom_id"])
            row = {"id": f"batch_req_{own}", "custom_id": own, "response": None, "error": None}
            if fault == "expired":
                errors.append(
                    row | {"error": {"code": "batch_expired", "message": "This request could not be executed"}}
                )
            elif fault:
                body = {"error": {"message": fault, "type": "invalid_request_error"}}
                errors.append(row | {"response": {"status_code": 400, "request_id": "r", "body": body}})
            else:
                body = self._completion(line["body"])
                output.append(row | {"response": {"status_code": 200, "request_id": "r", "body": body}})
        output.reverse()  # no order is promised
        for field, rows in (("output_file_id", output), ("error_file_id", errors)):
            if rows or field == "output_file_id":
                batch[field] = f"file-{next(self._numbers)}"
                self.files[batch[field]] = "".join(json.dumps(row) + "\n" for row in rows).encode()
        batch["status"] = "expired" if any(row["error"] for row in errors) else "completed"
        batch["request_counts"] |= {"completed": len(output), "failed": len(errors)}

    def _completion(self, body):
        text = self.answer(body["messages"][-1]["content"])
        message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [message],
                "usage": usage}  # fmt: skip

    async def _chat(self, request):
        body = await request.json()
        self.direct[json.dumps([body["messages"], body.get("seed")])] += 1
        return web.json_response(self._completion(body))

    # Anthropic -------------------------------------------------------------------------------------------------------

    async def _anthropic_create(self, request):
        assert request.headers["anthropic-version"] == "2023-06-01"
        asked = (await request.json())["requests"]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]) for one in asked)
        name = f"msgbatch_{next(self._numbers)}"
        self.batches[name] = {
            "id": name, "type": "message_batch", "processing_status": "in_progress", "results_url": None,
            "request_counts": {"processing": len(asked), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        }  # fmt: skip
        self.files[name] = asked
        self.asked.update(one["custom_id"] for one in asked)
        if self.forget_after == len(self.batches):
            request.transport.abort()
        return web.json_response(self.batches[name])

    async def _anthropic_list(self, _):
        return web.json_response({"data": [*self.batches.values()][::-1], "has_more": False})

    async def _anthropic_get(self, request):
        batch = self.batches[request.match_info["id"]]
        self.looks[batch["id"]] += 1
        if self.looks[batch["id"]] >= self.patience:
            faults = Counter(self.lost(one["custom_id"]) and "expired" for one in self.files[batch["id"]])
            batch |= {"processing_status": "ended", "results_url": "http://elsewhere.invalid/steal-the-key"}
            batch["request_counts"] = {"processing": 0, "succeeded": faults[""], "errored": 0, "canceled": 0,
                                       "expired": faults["expired"]}  # fmt: skip
        return web.json_response(batch)

    async def _anthropic_results(self, request):
        lines = []
        for one in self.files[request.match_info["id"]]:
            fault, params = self.lost(one["custom_id"]), one["params"]
            text = [{"type": "text", "text": self.answer(params["messages"][-1]["content"])}]
            message = {"id": "m", "type": "message", "role": "assistant", "model": params["model"], "content": text,
                       "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}}  # fmt: skip
            result = {"type": "expired"} if fault else {"type": "succeeded", "message": message}
            lines.append(json.dumps({"custom_id": one["custom_id"], "result": result}) + "\n")
        return web.Response(body="".join(lines).encode(), content_type="application/x-jsonl")
