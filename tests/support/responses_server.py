"""A server of OpenAI's Responses API, written from its documentation; every object it sends is one of the official client's
types, and every request is held against that client's own."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

USAGE = {
    "input_tokens": 120,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 0},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 30},
    "total_tokens": 170,
}


def reasoning(text, number=1, **more):
    summary = [{"type": "summary_text", "text": part} for part in text.split("|") if part]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": f"gAAA{number}", **more}


def message(text, number=1, **more):
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    said = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
    return {**said, **more}


def call(name, arguments, number=1):
    made = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
    return {**made, "name": name, "arguments": arguments}


class ResponsesServer:
    """Answers each request with what `script` says of its body: output items, and fields of the response."""

    def __init__(self, script):
        self.script, self.bodies, self.fetched = script, [], []
        self.stored, self.numbers = {}, count(1)
        self.looks = 2
        """Times that a response in the background is still being worked on when it is looked at."""
        self.cut = None
        """Events after which a stream ends without a word."""

    def respond(self, body):
        from openai.types.responses import Response

        items, fields = self.script(body)
        whole = {
            "id": f"resp_{next(self.numbers)}",
            "object": "response",
            "created_at": 1760000000.0,
            "model": body["model"],
            "status": "completed",
            "output": items,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": body.get("tools", []),
            "usage": USAGE,
            **fields,
        }
        Response.model_validate(whole)
        return whole

    def events(self, whole):
        """In the order of the documentation; deltas of five letters."""
        numbers = count()
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "sequence_number": next(numbers), "response": begun}
        yield {"type": "response.in_progress", "sequence_number": next(numbers), "response": begun}
        for place, item in enumerate(whole["output"]):
            at = {"output_index": place, "item_id": item["id"]}
            empty = {**item, **({"content": []} if item["type"] == "message" else {}), "status": "in_progress"}
            empty |= {"encrypted_content": "not all"} if item["type"] == "reasoning" else {}
            yield {
                "type": "response.output_item.added",
                "output_index": place,
                "sequence_number": next(numbers),
                "item": empty,
            }
            text = item["content"][0].get("text", "") if item["type"] == "message" else item.get("arguments", "")
            kind = (
                "response.output_text.delta" if item["type"] == "message" else "response.function_call_arguments.delta"
            )
            for start in range(0, len(text), 5):
                more = {"content_index": 0, "logprobs": []} if item["type"] == "message" else {}
                yield {
                    "type": kind,
                    "delta": text[start : start + 5],
                    "sequence_number": next(numbers),
                    **at,
                    **more,
                }
            yield {
                "type": "response.output_item.done",
                "output_index": place,
                "sequence_number": next(numbers),
                "item": item,
            }
        yield {"type": f"response.{whole['status']}", "sequence_number": next(numbers), "response": whole}

    @contextmanager
    def running(self):
        door = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                door.bodies.append(body)
                whole = door.respond(body)
                if body.get("background"):
                    door.stored[whole["id"]] = [whole, door.looks]
                    self.send({**whole, "status": "queued", "output": [], "usage": None})
                elif body.get("stream"):
                    events = list(door.events(whole))[: door.cut]
                    lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
                    self.send("".join(lines), "text/event-stream")
                else:
                    self.send(whole)

            def do_GET(self):
                name = self.path.rpartition("/")[2]
                door.fetched.append(name)
                if name not in door.stored:
                    self.send({"error": {"message": f"Response with id '{name}' not found."}}, status=404)
                    return
                door.stored[name][1] -= 1
                whole, looks = door.stored[name]
                self.send({**whole, "status": "in_progress", "output": []} if looks >= 0 else whole)

            def send(self, content, kind="application/json", status=200):
                data = (content if isinstance(content, str) else json.dumps(content)).encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            server.server_close()
