"""Two small runs, made once: the model in the box and the exact solver on the same puzzles."""

import pytest

import markscheme as ms
from markscheme.errors import speaking


@pytest.fixture(autouse=True)
def python_words(shell_words):
    with speaking("python"):
        yield


@pytest.fixture(scope="session")
def nano(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api") / "nano"
    return ms.run("countdown-sample", model="nano", limit=8, samples=4, pass_k=(1, 4), out=folder, progress=False)


@pytest.fixture(scope="session")
def solver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api") / "solver"
    return ms.run("countdown-sample", model="solver", limit=8, out=folder, progress=False)
