"""Trainers that want an environment of their own (`.ci/trainers FOLDER`), at work with our rewards."""

import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "trainers"
FOLDER = os.environ.get("MARKSCHEME_TRAINERS")


@pytest.mark.skipif(FOLDER is None, reason="MARKSCHEME_TRAINERS names the environment that .ci/trainers makes")
@pytest.mark.parametrize("script", ["with_verl.py", "with_verifiers.py"])
def test_trainer_when_it_takes_a_small_step_gets_our_rewards(script):
    done = subprocess.run([f"{FOLDER}/bin/python", HERE / script], capture_output=True, text=True, timeout=230)
    assert done.returncode == 0, done.stderr[-3000:]
