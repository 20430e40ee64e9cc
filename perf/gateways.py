"""Runs through programs that nobody here wrote: is every response there, none twice, are the verdicts those of a clean run?

    python perf/gateways.py               every program that is installed: nginx, haproxy, squid, tinyproxy, mitmdump, uvicorn, hypercorn
    python perf/gateways.py nginx squid   only these

Each stands between markscheme and a loopback server, with settings that hurt: connections that are closed under us after
ten requests or one idle second, a limit of eight at once, a third of all requests refused, answers repacked, cut or spoiled.
Prints a table, and ends with an error if a promise was broken.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from faults import Oracle, answers, check, finish, verdicts
from loopback import Loopback, Plan

SAMPLES = 300

NGINX = """
daemon off; error_log stderr crit; pid {folder}/pid; worker_processes 1; events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e; client_max_body_size 4m;
  limit_req_zone $server_name zone=all:1m rate=200r/s; keepalive_timeout 1s; keepalive_requests 10;
  gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;
  server {{ listen 127.0.0.1:{port}; location / {{ limit_req zone=all burst=20 nodelay; proxy_pass http://127.0.0.1:{upstream}; }} }}
}}
"""

HAPROXY = """
global
  maxconn 2000
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout queue 200ms
frontend f
  bind 127.0.0.1:{port}
  http-request deny deny_status 429 hdr retry-after 0 if {{ rand(10) lt 3 }}
  default_backend b
backend b
  server s 127.0.0.1:{upstream} maxconn 8
"""

SQUID = """
http_port 127.0.0.1:{port}
http_access allow all
cache deny all
cache_log /dev/null
access_log none
pid_filename none
shutdown_lifetime 0 seconds
coredump_dir /tmp
"""

TINYPROXY = """
Port {port}
Listen 127.0.0.1
Timeout 600
MaxClients 20
LogLevel Critical
LogFile "{folder}/log"
"""

MITM = """
import gzip, random
luck = random.Random(4)
def response(flow):
    draw = luck.random()
    if draw < 0.1:
        flow.kill()
    elif draw < 0.2:
        flow.response.status_code = 502
    elif draw < 0.3:
        flow.response.content = b"\\xef\\xbb\\xbf" + flow.response.content
    elif draw < 0.4:
        flow.response.content = flow.response.content.replace(b'"usage"', b'"logprob": NaN, "usage"')
    elif draw < 0.5:
        packed = gzip.compress(flow.response.content)[:-9]
        flow.response.raw_content = packed
        flow.response.headers["content-encoding"] = "gzip"
        if draw > 0.42:  # else its length is that of before, and the client waits for the rest
            flow.response.headers["content-length"] = str(len(packed))
    elif draw < 0.7:
        flow.response.encode("gzip")
"""

APP = """
import asyncio, os, random, urllib.request
luck = random.Random(5)
def forward(path, body):
    request = urllib.request.Request("http://127.0.0.1:{upstream}" + path, body, {{"Content-Type": "application/json"}})
    with urllib.request.urlopen(request) as answer:
        return answer.read()
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    draw = luck.random()
    if draw < 0.1:
        raise RuntimeError("a bug in the server")
    if draw < 0.2:
        await send({{"type": "http.response.start", "status": 503, "headers": [(b"retry-after", b"0")]}})
        await send({{"type": "http.response.body", "body": b"busy"}})
        return
    answer = await asyncio.to_thread(forward, scope["path"], body)
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}})
    for start in range(0, len(answer), 100):  # in chunks, slowly
        await send({{"type": "http.response.body", "body": answer[start:start + 100], "more_body": True}})
        await asyncio.sleep(0)
        if draw < 0.3 and start > 200:
            raise RuntimeError("a bug in mid-answer")
    await send({{"type": "http.response.body", "body": b""}})
"""


@contextmanager
def started(command: list[str], port: int, **environment: str) -> Iterator[None]:
    """A program that listens on the port; ended with the block."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    try:
        deadline = time.monotonic() + 30
        while True:
            check(process.poll() is None, f"{command[0]} starts: {process.returncode}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            check(time.monotonic() < deadline, f"{command[0]} listens within 30 s")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# Folder, own port and the server's → the command, and whether it is asked as a proxy.
Gateway = Callable[[Path, int, int], tuple[list[str], bool]]


def configured(text: str, *command: str, proxy: bool = False, name: str = "conf") -> Gateway:
    """A program with a configuration file; `{file}` in its command is that file."""

    def gateway(folder: Path, port: int, upstream: int) -> tuple[list[str], bool]:
        file = folder / name
        file.write_text(text.format(folder=folder, port=port, upstream=upstream))
        words = {"file": str(file), "folder": str(folder), "port": port, "upstream": upstream, "stem": file.stem}
        return [word.format(**words) for word in command], proxy

    return gateway


GATEWAYS: dict[str, tuple[str, Gateway]] = {
    "nginx": (
        "closes after 10 requests or 1 s, 200 a second, else 503; packs answers",
        configured(NGINX, "nginx", "-c", "{file}", "-p", "{folder}"),
    ),
    "haproxy": (
        "30 % 429, eight at once, 503 after 0.2 s in its queue",
        configured(HAPROXY, "haproxy", "-q", "-f", "{file}"),
    ),
    "squid": (
        "as HTTP_PROXY",
        configured(SQUID, "squid", "-N", "-n", "ms{port}", "-f", "{file}", proxy=True),
    ),
    "tinyproxy": (
        "as HTTP_PROXY, 20 connections at most",
        configured(TINYPROXY, "tinyproxy", "-d", "-c", "{file}", proxy=True),
    ),
    "mitmdump": (
        "10 % killed, 10 % 502, 8 % cut in mid-gzip, 2 % stall; BOM, NaN, gzip",
        configured(
            MITM, "mitmdump", "-q", "--mode", "reverse:http://127.0.0.1:{upstream}", "--listen-port", "{port}", "-s", "{file}",
            name="spoil.py",
        ),
    ),
    "uvicorn": (
        "10 % tracebacks, 10 % 503, 10 % break off in mid-answer; small chunks",
        configured(APP, "uvicorn", "--app-dir", "{folder}", "{stem}:app", "--port", "{port}", "--log-level", "critical",
                   "--timeout-keep-alive", "1", name="odd.py"),
    ),
    "hypercorn": (
        "the same app",
        configured(APP, "env", "PYTHONPATH={folder}", "hypercorn", "{stem}:app", "-b", "127.0.0.1:{port}", "--keep-alive", "1", name="odd.py"),
    ),
}  # fmt: skip


def through(name: str, oracle: Oracle, clean: dict[tuple[str, int], str]) -> tuple[int, float]:
    """One run through a gateway; how many requests reached the server, and the seconds it took."""
    gateway = GATEWAYS[name][1]
    began = time.perf_counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(Loopback(Plan(answer=oracle, latency=0.02), count=True))
        upstream, port = int(server.url.split(":")[2].split("/")[0]), free_port()
        command, proxy = gateway(folder, port, upstream)
        stack.enter_context(started(command, port))
        address = f"http://127.0.0.1:{port}/v1"
        environment = {}
        if proxy:  # the loopback is never asked through a proxy, so it gets another name
            address = f"http://{socket.gethostname()}:{upstream}/v1"
            environment = {"HTTP_PROXY": f"http://127.0.0.1:{port}", "NO_PROXY": "", "no_proxy": ""}
        options = ["--limit", str(SAMPLES), "--concurrency", "64", "--retry-delay", "0.1", "--request-timeout", "10"]
        options += ["--out", f"{folder}/run"]
        former = {key: os.environ.get(key) for key in environment}
        os.environ.update(environment)
        try:
            finish(oracle.start("run", oracle.name, "--model", "openai/m", "--base-url", address, *options))
        finally:
            for key, value in former.items():
                os.environ.pop(key) if value is None else os.environ.update({key: value})
        counted = answers(folder / "run")
        check(len(counted) == SAMPLES and set(counted.values()) == {1}, f"{name}: every response once")
        check(verdicts(folder / "run") == clean, f"{name}: the verdicts of a clean run")
        return server.requests, time.perf_counter() - began


def main() -> None:
    """Every program that was named, or all that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", choices=[*GATEWAYS, []], default=[])
    chosen = parser.parse_args().which or [name for name in GATEWAYS if shutil.which(name)]
    oracle = Oracle()
    with tempfile.TemporaryDirectory() as folder, Loopback(Plan(answer=oracle)) as server:
        options = ["--base-url", server.url, "--limit", str(SAMPLES), "--out", f"{folder}/clean"]
        finish(oracle.start("run", oracle.name, "--model", "openai/m", *options))
        clean = verdicts(Path(folder) / "clean")
    print("| between | what it does | requests at the server | responses | seconds |")
    print("|---|---|---|---|---|")
    for name in chosen:
        requests, seconds = through(name, oracle, clean)
        print(f"| {name} | {GATEWAYS[name][0]} | {requests} | {SAMPLES}, each once, same verdicts | {seconds:.0f} |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
