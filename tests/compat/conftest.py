"""The doors as people use them: typed as their own documentation says, from inside `compat/`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPAT = Path(__file__).parents[2] / "compat"


@pytest.fixture
def door(tmp_path):
    """Type a command inside `compat/`: `door("python", "evaluate.py", …)`. No official data, unless `env` names it.

    It runs in a process group of its own, as at a terminal, where Ctrl-C goes to the whole group.
    """

    def type_command(*command, code=0, env=None, cwd=COMPAT, timeout=120):
        environment = {
            **{name: value for name, value in os.environ.items() if name != "MARKSCHEME_DATA"},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
            **(env or {}),
        }
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout, start_new_session=True
        )
        assert done.returncode == code, f"$ {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done

    return type_command


@pytest.fixture
def in_compat(monkeypatch):
    """Import as from inside `compat/`."""
    monkeypatch.syspath_prepend(str(COMPAT))
