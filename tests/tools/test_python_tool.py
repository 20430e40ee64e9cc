"""The tool `python`: what it gives back, and what the code that it runs cannot do."""

import asyncio
import os
import shutil
import socket

import pytest

from markscheme.config import make_config
from markscheme.errors import UsageError
from markscheme.tools import make_tools
from markscheme.tools.boxes import BOXES

needs_bwrap = pytest.mark.skipif(
    shutil.which("bwrap") is None and not os.environ.get("MARKSCHEME_REQUIRE_ALL"), reason="needs bubblewrap"
)


def call(arguments, *earlier, **options):
    tools = make_tools(make_config(benchmark="b", model="m", tools=("python",), tool_timeout=20, **options))
    return asyncio.run(tools["python"].run(arguments, earlier))[:2]


@needs_bwrap
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"code": "print(6 * 7)"}', "42"),
        ("x = 6\nx * 7", "42"),
        ("import threading\nt = threading.Thread(target=print, args=(1,)); t.start(); t.join()", "1"),
        ("import sys; print(1); sys.exit()", "1"),
    ],
)
def test_call_when_it_is_python_then_gives_back_what_it_prints_and_its_last_value(arguments, text):
    assert call(arguments) == (text, False)


@needs_bwrap
def test_call_when_earlier_ones_defined_names_then_they_are_there_and_silent():
    assert call("x + y", "x = 40; print('never seen')", "1/0", "y = 2") == ("42", False)


@needs_bwrap
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('{"code": 3}', "not"),
        ('{"code"', "not"),
        ("1/0", "line 1: ZeroDivisionError"),
        ("if", "SyntaxError"),
        ("import os; os.fork()", "not permitted"),
        ("import subprocess; subprocess.run(['/bin/sh'])", "not permitted"),
        ("import multiprocessing as m; p = m.Process(target=print); p.start()", "not permitted"),
        ("open('/usr/x', 'w')", "Read-only"),
        ("open('/etc/passwd')", "No such file"),
        ("x = 'a' * 10**11", "MemoryError"),
        ("open('/tmp/x', 'wb').write(b'x' * 2**28)", "Error"),
        ("import os; os.symlink('/etc/passwd', '/tmp/e'); open('/tmp/e')", "No such file"),
    ],
)
def test_call_when_it_fails_or_is_not_allowed_then_the_result_says_so(code, said):
    text, failed = call(code)
    assert failed
    assert said in text


@needs_bwrap
def test_code_when_it_prints_without_end_or_never_ends_then_it_is_stopped():
    text, failed = call("while True: print('x' * 1000)")
    assert failed
    assert len(text) < 9_000
    assert "printed too much" in text
    text, failed = call_briefly("while True: pass")
    assert failed
    assert "longer than 1 s" in text


def call_briefly(code):
    tools = make_tools(make_config(benchmark="b", model="m", tools=("python",), tool_timeout=1))
    return asyncio.run(tools["python"].run(code, ()))[:2]


@needs_bwrap
def test_code_when_it_looks_around_then_sees_no_key_no_network_and_no_process_of_ours(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-42")
    (tmp_path / "secret").write_text("s")
    text, _ = call("import os\nprint(sorted(os.environ))")
    assert "OPENAI_API_KEY" not in text
    assert call(f"import os; os.path.exists({str(tmp_path)!r})") == ("False", False)
    assert call(f"import os; os.kill({os.getpid()}, 0)")[1] or os.getpid() < 5
    with socket.create_server(("127.0.0.1", 0)) as listening:
        text, failed = call(f"import socket; socket.create_connection(('127.0.0.1', {listening.getsockname()[1]}), 2)")
    assert failed
    assert "Error" in text


def test_tools_when_there_is_no_sandbox_then_refused_unless_that_is_wanted(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(BOXES, "landlock", lambda *_: None)
    with pytest.raises(UsageError, match="install bubblewrap"):
        call("1")
    assert call("6 * 7", unsafe_tools=True) == ("42", False)


@needs_bwrap
def test_session_when_code_was_stopped_or_ends_it_then_later_calls_begin_anew():
    tool = make_tools(make_config(benchmark="b", model="m", tools=("python",), tool_timeout=1))["python"]
    stopped = asyncio.run(tool.run("x = 1\nwhile True: pass", ()))
    assert stopped.failed
    assert stopped.lost
    text, failed = call("x", "x = 1", "import os; os._exit(0)")  # as if its loss had not been noticed
    assert failed
    assert "NameError" in text


@needs_bwrap
def test_session_when_none_is_wanted_then_every_call_begins_anew():
    assert "NameError" in call("x", "x = 1", tool_state="none")[0]


@needs_bwrap
def test_session_when_earlier_calls_take_long_then_each_call_still_has_its_time():
    slow = "import time; time.sleep(0.7)"
    tools = make_tools(make_config(benchmark="b", model="m", tools=("python",), tool_timeout=1.2))
    assert asyncio.run(tools["python"].run("time.sleep(0.7); 7", (slow, slow)))[:2] == ("7", False)


@needs_bwrap
def test_session_when_code_draws_at_random_then_it_draws_the_same_when_run_again():
    drawn = "import random; a = random.random()"
    assert call("a", drawn) == call("a", drawn)


def test_tools_when_one_does_not_exist_then_says_which_there_are():
    with pytest.raises(UsageError, match="python"):
        make_tools(make_config(benchmark="b", model="m", tools=("pyhton",)))


def test_tools_when_a_format_is_given_without_a_tool_then_it_is_refused():
    with pytest.raises(UsageError, match="--tool-format fenced needs --tools python"):
        make_tools(make_config(benchmark="b", model="m", tool_format="fenced"))
    assert make_tools(make_config(benchmark="b", model="m", tool_format="fenced", tools=("none",))) == {}


def test_tool_memory_when_python_could_not_start_with_it_then_it_is_refused():
    with pytest.raises(UsageError, match="128"):
        make_config(benchmark="b", model="m", tool_memory=8)
