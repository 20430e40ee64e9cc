"""`markscheme` and `python -c` as programs: clients that ask a server, which forks with everything imported.

A command so costs a fork instead of the half second in which an interpreter imports numpy, rich and the rest, or the ten
in which it imports torch and lm_eval; what it does is the same `main`. That a new interpreter starts quickly and imports
little is tested in tests/cli/test_start.py.
"""

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

MODULES = ("markscheme", "markscheme.running", "markscheme.reporting.plots", "numpy", "rich.live", "rich.table")

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as door:
    door.connect({address!r})
    said = json.dumps([os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(door, [len(said).to_bytes(8, "big")], [0, 1, 2])
    door.sendall(said)
    sys.exit(int(door.recv(16) or b"1"))
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


def serve(address: str, *modules: str) -> None:
    """Fork for every client until killed."""
    for name in (*MODULES, *modules):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    from markscheme.cli import COMMANDS, build_parser

    for command in COMMANDS:
        build_parser(command)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children of this process
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


def answer(door: socket.socket) -> int:
    """In a process of its own: start the command in another, and tell the client how it ended."""
    length, descriptors, _, _ = socket.recv_fds(door, 8, 3)
    said = b""
    while len(said) < int.from_bytes(length, "big"):
        said += door.recv(1 << 20)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if not child:
        door.close()
        return become(*json.loads(said), descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    door.sendall(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
    os._exit(0)


def become(program: str, arguments: list[str], folder: str, environment: dict[str, str], descriptors: list[int]) -> int:
    """The command, in the client's folder, environment and terminal."""
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
