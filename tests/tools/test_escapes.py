"""Fifty ways out of the sandbox, tried for real in each sandbox that this machine has: network, files, processes, signals,
keys, memory, output and time."""

import asyncio
import json
import os
import shutil
import socket
import time
from pathlib import Path

import pytest

import markscheme
from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.tools import make_tools

SYSCALL = "ctypes.CDLL(None, use_errno=True).syscall"

# What has to raise, whatever it raises. All of them are tried by one script; it says which of them got through.
BLOCKED = {
    # the network
    "connect to a port of the host": "socket.create_connection(('127.0.0.1', PORT), 2)",
    "connect by IPv6": "socket.create_connection(('::1', PORT), 2)",
    "connect elsewhere": "socket.create_connection(('93.184.216.34', 80), 2)",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('9.9.9.9', 53))",
    "look up a name": "socket.getaddrinfo('example.com', 80)",
    "raw packets": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(b'x', ('127.0.0.1', 0))",
    "packets of the device": "socket.socket(17, socket.SOCK_RAW, 3).send(b'x')",
    "an abstract socket of the host": "socket.socket(socket.AF_UNIX).connect(chr(0) + NAME)",
    # files outside
    "read a secret": "open(SECRET).read()",
    "read it through the root of process 1": "open('/proc/1/root' + SECRET).read()",
    "read it through our own root": "open('/proc/self/root' + SECRET).read()",
    "read it through a parent of the root": "open('/../../..' + SECRET).read()",
    "read it through a symlink": "os.symlink(SECRET, '/tmp/link'); open('/tmp/link').read()",
    "read it through a hard link": "os.link(SECRET, '/tmp/hard'); open('/tmp/hard').read()",
    "read passwords": "open('/etc/shadow').read()",
    "write beside the programs": "open('/usr/bin/x', 'w')",
    "write into the Python installation": "open(os.__file__, 'a')",
    "write to the root": "open('/x', 'w')",
    "write to the run folder": "open(RUN + '/responses.jsonl', 'a')",
    "remove the run folder": "shutil.rmtree(RUN)",
    "rename the run folder": "os.rename(RUN, '/tmp/mine')",
    "a device of the host": "os.mknod('/tmp/disk', 0o60600, os.makedev(254, 0)); open('/tmp/disk', 'rb').read(1)",
    "the memory of the machine": "open('/dev/mem', 'rb').read(1)",
    "mount": f"[1 for _ in [0] if {SYSCALL}(165, b'none', b'/tmp', b'tmpfs', 0, 0) == 0][0]",
    "change the root": "os.chroot('/tmp')",
    "write settings of the kernel": "v = open('/proc/sys/kernel/core_pattern').read(); open('/proc/sys/kernel/core_pattern', 'w').write(v)",
    # processes
    "fork": "os.fork()",
    "fork by another name": f"[1 for _ in [0] if {SYSCALL}(58) >= 0][0]",
    "fork by the new call": f"[1 for _ in [0] if {SYSCALL}(435, 0, 0) >= 0][0]",
    "fork by the other numbering": f"[1 for _ in [0] if {SYSCALL}(0x40000000 + 57) >= 0][0]",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "run a command": "subprocess.run(['/bin/true'])",
    "run a shell": "[1 for _ in [0] if os.system('true') == 0][0]",
    "a pool of processes": "multiprocessing.get_context('fork').Process(target=print).start()",
    "a new user namespace": f"[1 for _ in [0] if {SYSCALL}(272, 0x10000000) == 0][0]",
    "trace a process": f"[1 for _ in [0] if {SYSCALL}(101, 16, PARENT, 0, 0) == 0][0]",
    # signals
    "signal the run": "os.kill(PARENT, 0)",
    "signal its group": "os.killpg(PARENT, 0)",
    "a handle of the run": "os.pidfd_open(PARENT)",
    # keys
    "the environment of the run": "open(f'/proc/{PARENT}/environ').read()",
    "the memory of the run": "open(f'/proc/{PARENT}/mem', 'rb').read(1)",
    "a key of ours": "os.environ['OPENAI_API_KEY']",
    "a key of anybody here": "[1 for p in glob.glob('/proc/[0-9]*/environ') if KEY in open(p).read()][0]",
    "an open file of ours": "[1 for n in range(3, 64) if os.fstat(n)][0]",
    "keys of the kernel": f"[1 for _ in [0] if {SYSCALL}(248, b'user', b'k', b'v', 1, -3) > 0][0]",
    # memory that no limit counts
    "memory as a file": "os.memfd_create('x')",
    "memory that is shared": f"[1 for _ in [0] if {SYSCALL}(29, 0, 1 << 30, 0o1600) >= 0][0]",
    "memory of devices": "open('/dev/shm/x', 'wb').write(b'x')",
    "a higher limit": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "a large file": "[open(f'/tmp/{n}', 'wb').write(bytes(2**24)) for n in range(8)]",
}

SCRIPT = """
import ctypes, glob, json, multiprocessing, os, resource, shutil, socket, subprocess
through = []
for name, code in json.loads(CODES).items():
    try:
        exec(code)
        through.append(name)
    except BaseException:
        pass
json.dumps(through)
"""

# In a container these stay inside: its limits of processes and memory count them, and they end with it.
STAYS_INSIDE = {
    *("fork", "fork by another name", "run a shell", "a pool of processes", "a new user namespace"),
    *("memory as a file", "memory that is shared", "memory of devices", "a higher limit"),
}

ENDLESS = {
    "print without end": ("while True: print('x' * 1000)", "printed too much"),
    "print errors without end": ("import sys\nwhile True: sys.stderr.write('x' * 1000)", "printed too much"),
    "a gigabyte as the result": ("b'x' * 10**9", ""),
    "never end": ("while True: pass", "longer than 2 s"),
    "never end, and hear no signal": (
        "import signal\nfor n in range(1, 65):\n  try: signal.signal(n, signal.SIG_IGN)\n  except Exception: pass\nwhile True: pass",
        "longer than 2 s",
    ),
    "sleep in a thread": (
        "import threading, time\nt = threading.Thread(target=time.sleep, args=(99,)); t.start(); t.join()",
        "longer than 2 s",
    ),
    "end the session": ("import os; os._exit(0)", "stopped"),
    "crash": ("import ctypes; ctypes.string_at(0)", "stopped"),
    "more memory than there is": ("x = 'a' * 10**11", "MemoryError"),
    "memory little by little": ("x = []\nwhile True: x.append(bytes(2**24))", "MemoryError"),
    "threads without end": (
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        "",
    ),
}


def tool(box, **options):
    config = make_config(benchmark="b", model="m", tools=("python",), sandbox=box, **options)
    try:
        return make_tools(config)["python"]
    except UsageError as reason:
        if os.environ.get("MARKSCHEME_REQUIRE_ALL") and box in ("bubblewrap", "landlock"):
            raise
        pytest.skip(str(reason))


@pytest.mark.parametrize("box", ["bubblewrap", "landlock", "nsjail", "podman", "docker"])
def test_sandbox_when_code_tries_to_get_out_then_no_way_leads_there(box, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-escape-42")
    image = os.environ.get("MARKSCHEME_TEST_IMAGE")  # of podman and docker, where the usual one is not there
    python = tool(box, **({"tool_image": image} if image else {}))
    tried = {
        name: code for name, code in BLOCKED.items() if box not in ("podman", "docker") or name not in STAYS_INSIDE
    }
    secret, run = tmp_path / "secret", tmp_path / "run"
    secret.write_text("s")
    run.mkdir()
    (run / "responses.jsonl").write_text("kept")
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind("\0markscheme-escape")
        abstract.listen()
        values = {"PORT": listening.getsockname()[1], "NAME": "markscheme-escape", "SECRET": str(secret)}
        values |= {"RUN": str(run), "PARENT": os.getpid(), "KEY": "sk-escape-42", "CODES": json.dumps(tried)}
        given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
        result = asyncio.run(python.run(given + SCRIPT, ()))
    assert (result.text, result.failed) == ("'[]'", False)
    assert {file.name for file in tmp_path.iterdir()} == {"secret", "run"}
    assert (run / "responses.jsonl").read_text() == "kept"


@pytest.mark.parametrize("box", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("name", ENDLESS)
def test_sandbox_when_code_has_no_end_then_it_is_ended_and_nothing_is_left(box, name, monkeypatch):
    code, said = ENDLESS[name]
    python = tool(box, tool_timeout=2, tool_memory=512)
    began = time.monotonic()
    result = asyncio.run(python.run(code, ()))
    assert result.failed
    assert said in result.text
    assert len(result.text) < 9_000
    assert time.monotonic() - began < 30  # a busy machine takes its time to end a process
    folders = [line for line in Path("/proc").glob("[0-9]*/cmdline") if is_ours(line)]
    assert not folders


def is_ours(file):
    """Whether a process is a sandbox of this very process that should be gone."""
    try:
        parent = int((file.parent / "stat").read_text().rpartition(") ")[2].split()[1])
        return parent == os.getpid() and b"os.write(1, b" in file.read_bytes()
    except (OSError, ValueError):
        return False


def test_sandbox_when_none_is_installed_or_allowed_then_says_why_and_refuses(monkeypatch, tmp_path):
    for name in ("bwrap", "nsjail", "podman", "docker"):
        stub = tmp_path / name
        stub.write_text("#!/bin/sh\necho 'no permission for this' >&2; exit 1\n")
        stub.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    monkeypatch.setattr("markscheme.tools.boxes.known_machine", lambda: True)
    monkeypatch.setitem(markscheme.tools.boxes.BOXES, "landlock", lambda *_: None)
    with pytest.raises(UsageError, match="bubblewrap: no permission for this") as refused:
        make_tools(make_config(benchmark="b", model="m", tools=("python",)))
    assert "docker: no permission" in str(refused.value)
    unsafe = make_tools(make_config(benchmark="b", model="m", tools=("python",), unsafe_tools=True))["python"]
    assert unsafe.where == "no sandbox"
    assert asyncio.run(unsafe.run("6 * 7", ())).text == "42"


def test_sandbox_when_it_is_named_and_unknown_then_names_the_nearest():
    with pytest.raises(UsageError, match="bubblewrap"):
        make_tools(make_config(benchmark="b", model="m", tools=("python",), sandbox="bubblwrap"))


def test_sandbox_when_it_no_longer_starts_then_the_run_stops_and_the_model_is_not_told():
    python = tool("bubblewrap")
    python._sandbox._box = lambda limits, script: markscheme.tools.boxes.Start(["/bin/sh", "-c", "echo gone; exit 1"])
    with pytest.raises(markscheme.errors.ModelError, match="does not start: gone"):
        asyncio.run(python.run("1", ()))


@pytest.mark.parametrize("engine", ["podman", "docker"])
def test_container_when_used_then_it_has_no_network_limits_and_is_removed(engine, monkeypatch, tmp_path):
    stub = tmp_path / engine
    stub.write_text(
        '#!/bin/sh\necho "$@" >> "$0.calls"\n[ "$1" = rm ] && exit 0\nwhile [ "$1" != python3 ]; do shift; done\nexec "$@"\n'
    )
    stub.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(stub) if name == engine else None)
    monkeypatch.setitem(markscheme.tools.boxes.BOXES, "landlock", lambda *_: None)
    python = tool("auto", tool_timeout=20, tool_memory=100, tool_image="my/python")
    assert python.where == engine
    assert asyncio.run(python.run("6 * 7", ())).text == "42"
    _, started, removed = (tmp_path / f"{engine}.calls").read_text().split("\nr")[0:3]
    assert "--network none" in started
    assert "--memory 100m" in started
    assert "my/python python3" in started
    assert removed.startswith("m --force markscheme-tool-")
