"""A stand-in for `vllm serve`: the same command line and endpoints, and the faults of real servers on demand.

`install(folder, name)` makes it a program. What it does is chosen by options a user might pass through:
`--fault crash|hang|die|taken` (`--last-words FILE` of a crash, `--after N` answers), `--children N` (which ignore SIGTERM
and leave group and parents), `--load SECONDS` (before it serves), `--linger SECONDS` (between SIGTERM and its end), `--once
FILE` (the fault happens only while the file is not there), `--pids FILE` (every process writes its id there), `--asked FILE`
(so does a server that has been asked).
Like the real ones it logs its options, keys included, and asks for its key and the name it serves the model by.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def install(folder: Path, name: str = "vllm") -> Path:
    """Make a program of that name in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
    program.chmod(0o755)
    return program


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("serve")
    parser.add_argument("model")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tensor-parallel-size", "--tensor_parallel_size", type=int, default=1)
    parser.add_argument("--api-key", "--api_key", default=os.environ.get("VLLM_API_KEY"))
    parser.add_argument("--hf-token")
    parser.add_argument("--served-model-name", "--served_model_name")
    parser.add_argument("--fault")
    parser.add_argument("--last-words", type=Path)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--once", type=Path)
    parser.add_argument("--children", type=int, default=0)
    parser.add_argument("--pids", type=Path)
    parser.add_argument("--asked", type=Path)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--load", type=float, default=0.0)
    parser.add_argument("--linger", type=float, default=0.0)
    args = parser.parse_args()
    fault = args.fault
    if args.once is not None:
        if args.once.exists():
            fault = None
        else:
            args.once.touch()
    print(f"options: {vars(args)}", flush=True)
    note(args.pids, os.getpid())
    for _ in range(args.children):
        note(args.pids, stubborn_child())
    print(f"loading {args.model} on GPUs {os.environ.get('CUDA_VISIBLE_DEVICES', 'of its choice')}", flush=True)
    if fault == "crash":
        sys.exit(
            args.last_words.read_text() if args.last_words else "RuntimeError: CUDA out of memory, says the stand-in"
        )
    if fault == "taken":
        sys.exit(f"OSError: [Errno 98] Address already in use: {args.port}")
    if fault == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    time.sleep(args.load)
    serve(args, fault)


def note(file: Path | None, pid: int) -> None:
    if file is not None:
        with file.open("a") as notes:
            notes.write(f"{pid}\n")


def stubborn_child() -> int:
    """A daemon, whose parent is gone: only the environment still tells whose it is."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    between = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {code!r}], stdout=2).pid)"
    return int(subprocess.check_output([sys.executable, "-c", between], start_new_session=True))


def serve(args: argparse.Namespace, fault: str | None) -> None:
    answered = 0

    def end(*_) -> None:
        print("ending", flush=True)
        time.sleep(args.linger)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            listed = 401 if args.api_key else 200
            self.reply({"/health": 200, "/v1/models": listed}.get(self.path, 404), {})

        def do_POST(self) -> None:
            nonlocal answered
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if args.api_key and self.headers["Authorization"] != f"Bearer {args.api_key}":
                self.reply(401, {"error": f"the key is {args.api_key}, not {self.headers['Authorization']}"})
                return
            if body["model"] != (args.served_model_name or args.model):
                self.reply(404, {"error": f"there is no model {body['model']}"})
                return
            if fault == "die" and answered >= args.after:
                os.kill(os.getpid(), signal.SIGKILL)
            if not answered:
                note(args.asked, os.getpid())
            time.sleep(args.latency)
            answered += 1
            text = f"ANSWER: {body['seed']}"
            answer = {"message": {"role": "assistant", "content": text}, "text": text, "finish_reason": "stop"}
            usage = {"prompt_tokens": 9, "completion_tokens": 3}
            gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "")
            self.reply(200, {"model": f"{body['model']} on {gpus}", "choices": [answer], "usage": usage})

        def reply(self, status: int, answer: dict) -> None:
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    Server((args.host, args.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
