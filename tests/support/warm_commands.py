"""`markscheme` and `python -c` as programs and processes: a server forks them with everything imported.

A command so costs a fork instead of the half second in which an interpreter imports numpy, rich and the rest, or the ten
in which it imports torch and lm_eval; what it does is the same `main`. That a new interpreter starts quickly and imports
little is tested in tests/cli/test_start.py.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MODULES = (
    *("markscheme", "markscheme.running", "markscheme.models.openai", "markscheme.models.anthropic"),
    *("markscheme.models.nano", "markscheme.experiments", "markscheme.cli.finishing", "markscheme.marking.equality"),
    *("markscheme.reporting.plots", "markscheme.reporting.summary", "numpy", "rich.live", "rich.table"),
)

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect({address!r})
    said = json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ), []]).encode()
    socket.send_fds(door, [len(said).to_bytes(8, "big")], [0, 1, 2])
    door.sendall(said)
    sys.exit(int(door.makefile().readlines()[-1]))
"""


@contextlib.contextmanager
def warm_commands(folder: Path, *modules: str, **variables: str):
    """While this lasts, `folder/bin/markscheme` is the command and `folder/bin/python -c …` runs a script.

    They have these modules, which saw these variables of the environment when they were imported.
    """
    address, programs = folder / "door", [folder / "bin" / name for name in ("markscheme", "python")]
    for program in programs:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(CLIENT.format(python=sys.executable, address=str(address)))
        program.chmod(0o755)
    server = subprocess.Popen([sys.executable, __file__, address, *modules], env={**os.environ, **variables})
    try:
        while not address.exists():
            assert server.poll() is None, "the server of commands ended"
            time.sleep(0.02)
        yield folder / "bin"
    finally:
        server.kill()
        server.wait()


class Command:
    """`markscheme …` in a process of its own, used like `subprocess.Popen` with pipes and text."""

    def __init__(self, programs: Path, arguments: Iterable[object], cwd: Path, env: Mapping[str, str]) -> None:
        ignored = [number for number in (signal.SIGHUP, signal.SIGINT) if signal.getsignal(number) is signal.SIG_IGN]
        said = json.dumps(["markscheme", [*map(str, arguments)], str(cwd), dict(env), ignored]).encode()
        (out, its_out), (err, its_err) = os.pipe(), os.pipe()
        self.stdout, self.stderr = (os.fdopen(end, errors="replace") for end in (out, err))
        self.returncode: int | None = None
        self._door = socket.socket(socket.AF_UNIX)
        self._door.connect(str(programs.parent / "door"))
        with Path(os.devnull).open() as nothing:
            socket.send_fds(self._door, [len(said).to_bytes(8, "big")], [nothing.fileno(), its_out, its_err])
        os.close(its_out)
        os.close(its_err)
        self._door.sendall(said)
        self._words = self._door.makefile()
        self.pid = int(self._words.readline())

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._door], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._door], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"markscheme, process {self.pid}", timeout)
            self.returncode = int(self._words.readline())
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        with ThreadPoolExecutor(2) as threads:
            both = [threads.submit(stream.read) for stream in (self.stdout, self.stderr)]
            self.wait(timeout)
        return both[0].result(), both[1].result()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """End it, if it has not ended, and let go of everything."""
        self.kill()
        self.wait()
        for stream in (self.stdout, self.stderr, self._words, self._door):
            stream.close()


def serve(address: str, *modules: str) -> None:
    """Fork for every client until killed."""
    for name in (*MODULES, *modules):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    from markscheme.cli import COMMANDS, build_parser
    from markscheme.marking import mark
    from markscheme.types import Problem, Response

    for command in COMMANDS:
        build_parser(command)
    for protocol in ("math", "gsm8k-numeric"):  # their patterns are compiled on first use
        mark(Response(key="", sample=0, text="12"), Problem(id="1", statement="?", gold="12"), protocol=protocol)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        Path(f"{address}.new").rename(address)  # a client that sees it can connect
        while True:
            door, _ = listening.accept()
            if not os.fork():
                listening.close()
                sys.exit(answer(door))
            door.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:  # those that have ended: their processor time is then known
                    pass


def answer(door: socket.socket) -> int:
    """In a process of its own: start the command in another, and tell the client how it ended."""
    length, descriptors, _, _ = socket.recv_fds(door, 8, 3)
    said = b""
    while len(said) < int.from_bytes(length, "big"):
        said += door.recv(1 << 20)
    child = os.fork()
    if not child:
        door.close()
        return become(*json.loads(said), descriptors)
    door.sendall(b"%d\n" % child)
    for descriptor in descriptors:
        os.close(descriptor)
    door.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def become(
    program: str,
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    ignored: list[int],
    descriptors: list[int],
) -> int:
    """The command, in the client's folder, environment and terminal, with the signals ignored that the client ignores."""
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    for place, descriptor in enumerate(descriptors):
        os.dup2(descriptor, place)
        os.close(descriptor)
    # Streams of its own: those of the server remember whether theirs could be wound back.
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if program == "python":
        option, script, *rest = arguments
        assert option == "-c"
        sys.argv = [option, *rest]
        sys.path[0] = ""  # as `python -c` has it: the folder one stands in
        exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
        return 0
    sys.argv = ["markscheme", *arguments]
    from markscheme.cli import main

    return main()


if __name__ == "__main__":
    serve(*sys.argv[1:])
