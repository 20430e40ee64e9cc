"""What the tests of the data share: a loopback Hub, and the command line as its own process."""

import os
import subprocess

import pytest
from hub_server import running_hub


@pytest.fixture
def hub(monkeypatch):
    """A loopback Hub that the real client of this process is pointed at."""
    with running_hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


@pytest.fixture
def environment(tmp_path):
    """For a command of its own: no settings of the machine's, and timeouts short enough for a test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MARKSCHEME_", "XDG_"))}
    return {
        **kept,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DOWNLOAD_TIMEOUT": "1",
        "HF_HUB_ETAG_TIMEOUT": "1",
        "MARKSCHEME_DATA": str(tmp_path / "data"),
    }


@pytest.fixture
def data_command(environment, launch):
    """Run `markscheme data …` as a user would, against a hub if one is given."""

    def run(*arguments, hub=None, **more):
        where = {"HF_ENDPOINT": hub.endpoint} if hub else {}
        command = launch("data", *arguments, env={**environment, **where, **more})
        stdout, stderr = command.communicate(timeout=200)
        return subprocess.CompletedProcess(arguments, command.returncode, stdout, stderr)

    return run
