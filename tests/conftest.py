"""What every test may ask for."""

import importlib.util
import os
import re
import shutil
import signal
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# `make test` tries the same examples on every machine; `make fuzz` looks for new ones.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("fuzz", derandomize=False, database=None, deadline=None, print_blob=False)
settings.load_profile("same")

# A shell starts what runs in its background with Ctrl-C ignored, and every process of the tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # and one under nohup without the hang-up
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Trackio reads its folder once, when somebody imports it (TRL does): it must be none that an earlier session filled.
os.environ["TRACKIO_DIR"] = tempfile.mkdtemp(prefix="trackio-")


@pytest.fixture(autouse=True)
def shell_words():
    """Messages name options as the command line does; tests/api has Python's words."""
    from markscheme.errors import speaking

    with speaking("shell"):
        yield


def pytest_unconfigure():
    shutil.rmtree(os.environ["TRACKIO_DIR"], ignore_errors=True)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of official data, where there is one: `$MARKSCHEME_DATA`, or beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MARKSCHEME_DATA", beside)).resolve()
    if not (folder / "gsm8k" / "test.jsonl").is_file():
        pytest.skip("no official data: set MARKSCHEME_DATA to a folder made by `markscheme data prepare`")
    return folder


LOOKED_FOR = {"needs": importlib.util.find_spec, "needs_program": shutil.which}


def pytest_runtest_setup(item):
    """`@pytest.mark.needs("torch")`: without the package a test is skipped, or fails where everything must run."""
    for marker in item.iter_markers():
        look = LOOKED_FOR.get(marker.name)
        missing = [name for name in marker.args if look(name) is None] if look else []
        if missing and os.environ.get("MARKSCHEME_REQUIRE_ALL") == "1":
            pytest.fail(f"not installed: {', '.join(missing)} (and MARKSCHEME_REQUIRE_ALL=1 lets nothing be skipped)")
        if missing:
            pytest.skip(f"needs {', '.join(missing)}")


def pytest_terminal_summary(terminalreporter):
    """One line on what was skipped for want of something, and the command that installs it."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple)]
    missing = {name for reason in reasons for name in re.findall(r"(?<=needs ).*", reason) for name in name.split(", ")}
    if missing:
        skipped = sum("needs " in reason for reason in reasons)
        terminalreporter.write_line(
            f"{skipped} tests were skipped because these are not installed: {', '.join(sorted(missing))}; "
            "`make setup-all test` runs those that pip can install, `.ci/run` all of them"
        )


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Under `-n`, see support/sharing.py."""
    from sharing import ByFile

    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_collection_modifyitems(config, items):
    """In a worker of `-n`: the order in which files are given away."""
    if hasattr(config, "workerinput"):
        from sharing import longest_first

        longest_first(items)


@pytest.fixture(scope="session")
def _ray_nodes(tmp_path_factory):
    from ray_nodes import TwoNodes

    nodes = TwoNodes(tmp_path_factory.mktemp("cluster"))
    yield nodes
    nodes.shutdown()


@pytest.fixture(scope="module")
def _connected(_ray_nodes):
    """Not longer than a module: other tests look at what happens where nobody is connected."""
    import ray
    from ray_nodes import patiently

    patiently(lambda: ray.init(address=_ray_nodes.address, log_to_driver=False, logging_level="ERROR"))
    yield _ray_nodes
    ray.shutdown()


@pytest.fixture
def cluster(_connected):
    """A Ray cluster of two nodes, both of them there whatever the test before did (the test needs ray)."""
    _connected.have_both()
    return _connected


@pytest.fixture(scope="session")
def programs():
    """The folder of `markscheme` and `python`, which start at once: to be first on the path (support/warm_commands.py)."""
    from warm_commands import warm_commands

    with tempfile.TemporaryDirectory() as folder, warm_commands(Path(folder)) as programs:
        yield programs


@pytest.fixture
def launch(programs):
    """Start `markscheme …` in a process of its own: `launch("run", …)`, used like `subprocess.Popen`, ends with the test."""
    from warm_commands import Command

    started = []

    def launch(*arguments, cwd=None, env=None):
        started.append(Command(programs, arguments, cwd or Path.cwd(), os.environ if env is None else env))
        return started[-1]

    yield launch
    for command in started:
        command.close()


@pytest.fixture
def silent_port():
    """A port where nobody listens, and which the system gives to nobody else; a server of the test's own may take it."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory) -> Path:
    """The folder of a tiny Hugging Face model (the test needs torch and transformers)."""
    from tiny_llama import make_tiny_llama

    return make_tiny_llama(tmp_path_factory.mktemp("tiny-llama"))
