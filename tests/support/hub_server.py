"""A small server that speaks the part of the Hub's HTTP API which the real `huggingface_hub` client uses to down- and upload.

Files are served with the Hub's headers; a fault can be set per file, and every request is kept in `requests`.
"""

import base64
import hashlib
import io
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

# The commit that a branch name resolves to; a pinned commit is served under its own name, as the Hub does.
COMMIT = "c0ffee" + 34 * "0"


@dataclass
class Hub:
    """The contents of the server: (repository, path) to bytes, and a fault for some of them."""

    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    faults: dict[tuple[str, str], str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    endpoint: str = ""
    created: dict[str, dict] = field(default_factory=dict)  # repositories that were made, with what was asked for
    closing: threading.Event = field(default_factory=threading.Event)

    def add(self, source, content: bytes, fault: str = "") -> None:
        self.files[source.repo, source.path] = content
        if fault:
            self.faults[source.repo, source.path] = fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_POST(self) -> None:
        hub, path = self.server.hub, self.path.partition("?")[0]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        hub.requests.append(f"POST {self.path}")
        parts = path.strip("/").split("/")
        if path == "/api/repos/create":
            asked = msgspec.json.decode(body)
            name = f"{asked.get('organization') or 'someone'}/{asked['name']}"
            hub.created[name] = asked
            return self._json({"url": f"{hub.endpoint}/datasets/{name}", "name": name, "id": "1"})
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        if len(parts) == 6 and parts[4] == "preupload":
            files = msgspec.json.decode(body)["files"]
            each = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            return self._json({"files": each})
        if len(parts) == 6 and parts[4] == "commit":
            repo = "/".join(parts[2:4])
            for line in map(msgspec.json.decode, body.splitlines()):
                if line["key"] == "file":
                    value = line["value"]
                    hub.files[repo, value["path"]] = base64.b64decode(value["content"])
            where = f"{hub.endpoint}/{repo}/commit/{COMMIT}"
            pull_request = f"{hub.endpoint}/{repo}/discussions/1" if "create_pr=1" in self.path else None
            return self._json({"commitUrl": where, "commitOid": COMMIT, "pullRequestUrl": pull_request})
        return self._refuse(404, "RepoNotFound")

    def _json(self, content) -> None:
        body = msgspec.json.encode(content)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass

    def _answer(self, body: bool) -> None:
        hub = self.server.hub
        hub.requests.append(f"{self.command} {self.path}")
        located = self._locate()
        fault = hub.faults.get(located[:2], "") if located else ""
        if located is None or (located[:2] not in hub.files and not fault):
            return self._refuse(404, "RepoNotFound")
        if fault.isdigit():
            return self._refuse(int(fault), "EntryNotFound" if fault == "404" else "")
        if fault == "stalled" or (fault == "stalled body" and body):
            hub.closing.wait(30)
            self.close_connection = True
            return None
        return self._serve(hub.files[located[:2]], located[2], body, fault)

    def _locate(self) -> tuple[str, str, str] | None:
        """(repository, path, revision) of /datasets/{owner}/{name}/resolve/{revision}/{path}."""
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[0] != "datasets" or len(parts) < 6 or parts[3] != "resolve":
            return None
        return "/".join(parts[1:3]), "/".join(parts[5:]), parts[4]

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _serve(self, content: bytes, revision: str, body: bool, fault: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", revision if len(revision) == 40 else COMMIT)
        self.end_headers()
        if not body:
            return
        if fault == "truncated":  # the same half again on every attempt, whatever range is asked for
            self.wfile.write(content[: len(content) // 2])
            self.close_connection = True
        elif fault == "slow":
            for start in range(0, len(content), 100):
                self.wfile.write(content[start : start + 100])
                time.sleep(0.05)
        else:
            self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_) -> None:
        """A client that hangs up is part of the tests, not worth a traceback."""


@contextmanager
def running_hub():
    """A hub on a free loopback port, shut down at the end."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = Hub(endpoint=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.hub
    finally:
        server.hub.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def parquet(rows) -> bytes:
    """The rows as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


def jsonl(rows) -> bytes:
    """The rows as a JSONL file."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
