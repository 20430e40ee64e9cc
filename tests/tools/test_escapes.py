"""A hundred ways out of the sandbox, tried for real in each sandbox that this machine has: network, files, processes,
signals, keys, memory, output and time."""

import asyncio
import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kept_runs import wait_until

import markscheme
from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.tools import make_tools
from markscheme.tools.boxes import landlock

SYSCALL = "ctypes.CDLL(None, use_errno=True).syscall"
ZEROS = "ctypes.create_string_buffer(200)"


def called(arguments):
    """Code that raises if a system call does not succeed."""
    return f"[1 for _ in [0] if {SYSCALL}({arguments}) >= 0][0]"


def library(call):
    """Code that raises if a call of the C library does not succeed."""
    return f"[1 for _ in [0] if ctypes.CDLL(None).{call} >= 0][0]"


PAIR = "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]"

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
    "a datagram to a socket of the host": f"{PAIR}.sendto(b'x', SOCKET)",
    "a datagram to an abstract socket": f"{PAIR}.sendto(b'x', chr(0) + NAME + '2')",
    "a message to a socket of the host": f"{PAIR}.sendmsg([b'x'], [], 0, SOCKET)",
    "connect half of a pair to a socket of the host": f"{PAIR}.connect(SOCKET)",
    "the hypervisor": "s = socket.socket(40, 1); s.settimeout(1); [1 for _ in [0] if s.connect_ex((2, 9)) != 1][0]",
    "the kernel's network settings": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "the kernel's ciphers": "socket.socket(38, socket.SOCK_SEQPACKET, 0)",
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
    "change the mode of the run folder": "os.chmod(RUN, 0)",
    "change its mode through a handle": "os.chmod('/proc/self/fd/%d' % os.open(RUN, os.O_PATH), 0)",
    "change its owner": "os.chown(RUN, -1, -1)",
    "change its time": "os.utime(RUN)",
    "change its attributes": "os.setxattr(RUN, 'user.x', b'1')",
    "change its attributes by the new call": called("463, -100, RUN.encode(), 0, b'user.y', ATTRIBUTE, 16"),
    "change its flags by the new call": called(f"469, -100, RUN.encode(), {ZEROS}, 24, 0"),
    "truncate a response": "os.truncate(RUN + '/responses.jsonl', 1)",
    "exchange two files": called("316, -100, (RUN + '/responses.jsonl').encode(), -100, SECRET.encode(), 2"),
    "a symlink in the run folder": "os.symlink('/', RUN + '/link')",
    "a pipe in the run folder": "os.mkfifo(RUN + '/pipe')",
    "list the run folder": "os.listdir(RUN)",
    "list it from inside": "os.chdir(RUN); os.listdir('.')",
    "list it through a handle": "os.listdir(os.open(RUN, os.O_PATH))",
    "watch the run folder": library("inotify_add_watch(ctypes.CDLL(None).inotify_init(), RUN.encode(), 0xfff)"),
    "open a file by its number": library("name_to_handle_at(-100, RUN.encode(), HANDLE, HANDLE, 0)"),
    "names of users": "open('/etc/passwd').read()",
    "the home of a user": "os.listdir(os.path.expanduser('~root'))",
    "processes of the host": "os.listdir('/proc')",
    "devices of the host": "os.listdir('/sys/devices')",
    "the terminal": "open('/dev/tty')",
    "a device of the host": "os.mknod('/tmp/disk', 0o60600, os.makedev(254, 0)); open('/tmp/disk', 'rb').read(1)",
    "the memory of the machine": "open('/dev/mem', 'rb').read(1)",
    "mount": f"[1 for _ in [0] if {SYSCALL}(165, b'none', b'/tmp', b'tmpfs', 0, 0) == 0][0]",
    "change the root": "os.chroot('/tmp')",
    "write settings of the kernel": "v = open('/proc/sys/kernel/core_pattern').read(); open('/proc/sys/kernel/core_pattern', 'w').write(v)",
    "mount by the new calls": called("430, b'tmpfs', 0"),
    "a copy of the mounts": called("428, -100, b'/tmp', 1"),
    "another root": called("155, b'/tmp', b'/tmp'"),
    "remove a mount": called("166, b'/tmp', 2"),
    "a module of the kernel": called("175, b'', 0, b''"),
    "a table in the kernel": called("321, 0, TABLE, 120"),
    "count what the run does": called("298, COUNTER, PARENT, -1, -1, 0"),
    "the log of the kernel": library(f"klogctl(3, {ZEROS}, 100)"),
    "set the clock": "time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "name the machine": "socket.sethostname('x')",
    "be another user": "os.setuid(1)",
    "leave the groups": "os.setgroups([0])",
    "be allowed anything": f"b = {ZEROS}; ctypes.CDLL(None).capget(b'\\x22\\x05\\x08\\x20' + bytes(4), b); [1 for _ in [0] if any(b.raw)][0]",
    "gain rights from a program": "[1 for _ in [0] if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) != 1][0]",
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
    "fork with shared memory": called("56, 0x4100, 0, 0, 0, 0"),
    "a new network": called("272, 0x40000000"),
    "a new view of files": called("272, 0x20000"),
    "be traced": library("ptrace(0, 0, 0, 0)"),
    "read memory of the run": called("310, PARENT, BUFFER, 1, THERE, 1, 0"),
    "memory of the run by its pages": called("279, PARENT, 0, None, None, None, 0"),
    "limits of the run": "resource.prlimit(PARENT, resource.RLIMIT_CORE)",
    "priority of the run": "os.setpriority(os.PRIO_PROCESS, PARENT, 19)",
    "processors of the run": "os.sched_setaffinity(PARENT, [0])",
    "schedule of the run": "os.sched_setscheduler(PARENT, 0, os.sched_param(0))",
    "disk priority of the run": called("251, 1, PARENT, 0"),
    # signals
    "signal the run": "os.kill(PARENT, 0)",
    "signal its group": "os.killpg(PARENT, 0)",
    "signal one thread of the run": called("234, PARENT, PARENT, 0"),
    "signal with a value": called("129, PARENT, 0, SIGNAL"),
    "signal one thread with a value": called("297, PARENT, PARENT, 0, SIGNAL"),
    "signal when a pipe has data": "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, PARENT)",
    "signal a thread when a pipe has data": "fcntl.fcntl(os.pipe()[0], 15, struct.pack('ii', 1, PARENT))",
    "a handle of the run": "os.pidfd_open(PARENT)",
    # keys
    "the environment of the run": "open(f'/proc/{PARENT}/environ').read()",
    "the memory of the run": "open(f'/proc/{PARENT}/mem', 'rb').read(1)",
    "a key of ours": "os.environ['OPENAI_API_KEY']",
    "a key of anybody here": "[1 for p in glob.glob('/proc/[0-9]*/environ') if KEY in open(p).read()][0]",
    "an open file of ours": "[1 for n in range(3, 64) if os.fstat(n)][0]",
    "keys of the kernel": f"[1 for _ in [0] if {SYSCALL}(248, b'user', b'k', b'v', 1, -3) > 0][0]",
    "the session's keys": called("250, 0, -3, 0"),
    # memory that no limit counts
    "secret memory": called("447, 0"),
    "shared memory of others": library(f"shmctl(SHARED, 2, {ZEROS})"),
    "a queue of messages": called("68, 0, 0o1600"),
    "a queue of messages with a name": called("240, b'x', 0o102, 0o600, None"),
    "semaphores": called("64, 0, 1, 0o1600"),
    "requests without calls": called(f"425, 8, {ZEROS}"),
    "memory that others fill": called("323, 1"),
    "core dumps": "resource.setrlimit(resource.RLIMIT_CORE, (-1, -1))",
    "memory as a file": "os.memfd_create('x')",
    "memory that is shared": f"[1 for _ in [0] if {SYSCALL}(29, 0, 1 << 30, 0o1600) >= 0][0]",
    "memory of devices": "open('/dev/shm/x', 'wb').write(b'x')",
    "a higher limit": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "a large file": "[open(f'/tmp/{n}', 'wb').write(bytes(2**24)) for n in range(8)]",
}

SCRIPT = """
import ctypes, fcntl, glob, json, multiprocessing, os, resource, shutil, socket, struct, subprocess, time
HERE, THERE = ctypes.create_string_buffer(8), struct.pack('QQ', ADDRESS, 8)
BUFFER = struct.pack('QQ', ctypes.addressof(HERE), 8)
HANDLE = ctypes.create_string_buffer((128).to_bytes(4, 'little'), 200)
TABLE = struct.pack('IIIII', 2, 4, 8, 1, 0).ljust(120, bytes(1))
COUNTER = struct.pack('IIQ', 1, 112, 0).ljust(112, bytes(1))
SIGNAL = ctypes.create_string_buffer(struct.pack('iii', 0, 0, -1).ljust(128, bytes(1)))
ATTRIBUTE = struct.pack('QII', ctypes.addressof(SIGNAL), 1, 0)
through = []
for name, code in json.loads(CODES).items():
    try:
        exec(code)
        through.append(name)
    except BaseException:
        pass
json.dumps(through)
"""

# A container has files of its own, its processes are its own, and devices in memory count towards its limit.
STAYS_INSIDE = {
    *("names of users", "the home of a user", "processes of the host", "devices of the host"),
    *("memory of devices", "a higher limit"),
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
    "dump core": ("import os; os.abort()", "stopped"),
    "sleep in C": ("import ctypes; ctypes.CDLL(None).sleep(99)", "longer than 2 s"),
    "compute in C": ("9 ** 10**9", "longer than 2 s"),
    "close the output and go on": ("import os; os.close(1); os.close(2)\nwhile True: pass", "longer than 2 s"),
    "stop itself": ("import signal; signal.raise_signal(signal.SIGSTOP)", ""),
    "become another program": ("import os; os.execv('/bin/sleep', ['sleep', '99'])", "longer than 2 s"),
    "say that it has ended": (
        "import os\nos.write(1, b'\\0')\nwhile True: os.write(1, b'\\0' * 999)",
        "printed too much",
    ),
    "a gigabyte in one write": ("import os; os.write(1, bytes(2**28))", ""),
    "more files than memory": (
        "import os\nfor n in range(10**9): os.close(os.open(f'/tmp/{n}', os.O_CREAT | os.O_WRONLY))",
        "e",
    ),
    "folders without end": ("import os\nwhile True: os.mkdir('/tmp/x'); os.chdir('/tmp/x')", ""),
    "pipes without end": ("import os\nx = []\nwhile True: x.append(os.pipe())", "Too many open files"),
    "terminals without end": ("import os\nx = []\nwhile True: x.append(os.openpty())", ""),
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


@pytest.fixture
def shared():
    """The id of shared memory that belongs to the host."""
    shared = ctypes.CDLL(None).shmget(0, 4096, 0o1600)
    yield shared
    ctypes.CDLL(None).shmctl(shared, 0, None)


def oldest_landlock(limits, script):
    """Landlock as its first version was: without rules for signals, the network and truncation."""
    start = landlock(limits, script)
    asks = 'version = call("syscall", CREATE, None, 0, 1)'
    assert sum(asks in word for word in start.words) == 1
    return start._replace(words=[word.replace(asks, "version = 1") for word in start.words])


@pytest.mark.parametrize("box", ["bubblewrap", "landlock", "oldest landlock", "nsjail", "podman", "docker"])
def test_sandbox_when_code_tries_to_get_out_then_no_way_leads_there(box, monkeypatch, tmp_path, shared):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-escape-42")
    monkeypatch.setitem(markscheme.tools.boxes.BOXES, "oldest landlock", oldest_landlock)
    settings = Path("/proc/sys/kernel/core_pattern").read_text()
    image = os.environ.get("MARKSCHEME_TEST_IMAGE")  # of podman and docker, where the usual one is not there
    python = tool(box, **({"tool_image": image} if image else {}))
    tried = {
        name: code for name, code in BLOCKED.items() if box not in ("podman", "docker") or name not in STAYS_INSIDE
    }
    secret, run = tmp_path / "secret", tmp_path / "run"
    secret.write_text("s")
    run.mkdir()
    (run / "responses.jsonl").write_text("kept")
    memory = ctypes.create_string_buffer(8)
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract_datagrams,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
    ):
        abstract.bind("\0markscheme-escape")
        abstract.listen()
        abstract_datagrams.bind("\0markscheme-escape2")
        datagrams.bind(str(tmp_path / "socket"))
        values = {"PORT": listening.getsockname()[1], "NAME": "markscheme-escape", "SECRET": str(secret)}
        values |= {"SOCKET": str(tmp_path / "socket"), "SHARED": shared, "RUN": str(run), "PARENT": os.getpid()}
        values |= {"ADDRESS": ctypes.addressof(memory), "KEY": "sk-escape-42", "CODES": json.dumps(tried)}
        given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
        result = asyncio.run(python.run(given + SCRIPT, ()))
    assert (result.text, result.failed) == ("'[]'", False)
    assert {file.name for file in tmp_path.iterdir()} == {"secret", "run", "socket"}
    assert (run / "responses.jsonl").read_text() == "kept"
    assert Path("/proc/sys/kernel/core_pattern").read_text() == settings


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


def test_sandbox_when_code_makes_files_without_end_then_it_is_ended_before_they_fill_the_memory():
    python = tool("bubblewrap", tool_timeout=60)
    code = ENDLESS["more files than memory"][0]
    assert "it made too many files" in asyncio.run(python.run(code, ())).text
    few = asyncio.run(python.run(f"import time\n{code.replace('10**9', '9000')}\ntime.sleep(1.2)", ()))
    assert (few.text, few.failed) == ("", False)


@pytest.mark.parametrize("box", ["bubblewrap", "landlock"])
def test_sandbox_when_the_run_is_killed_then_its_code_ends_too(box):
    assert tool(box)
    asks = (
        "import asyncio; from markscheme.config import make_config; from markscheme.tools import make_tools\n"
        f"config = make_config(benchmark='b', model='m', tools=('python',), sandbox={box!r})\n"
        "asyncio.run(make_tools(config)['python'].run('import time; time.sleep(42)', ()))"
    )
    run = subprocess.Popen([sys.executable, "-c", asks])
    wait_until(lambda: any(sleeps(each) for each in descendants(run.pid)))
    inside = descendants(run.pid)
    run.kill()
    run.wait()
    wait_until(lambda: not any(sleeps(each) for each in inside), 120)


def descendants(pid):
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in children for one in (child, *descendants(child))]


def sleeps(pid):
    """Whether a process runs the code."""
    try:
        return b"os.write(1, b" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


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
    monkeypatch.setattr("markscheme.tools.boxes.call_filter", lambda *, inside: b"x")
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
    python = tool("auto", tool_timeout=20, tool_memory=200, tool_image="my/python")
    assert python.where == engine
    assert asyncio.run(python.run("6 * 7", ())).text == "42"
    _, started, removed = (tmp_path / f"{engine}.calls").read_text().split("\nr")[0:3]
    assert "--network none" in started
    assert "--memory 200m" in started
    assert "my/python timeout -s KILL 80 python3" in started
    assert removed.startswith("m --force markscheme-tool-")
