"""The coverage simulation itself: the first situation of each table holds, and an interval that is too narrow is caught.

`.ci/run` simulates more (`perf/coverage.py --quick`), and without `--quick` it takes most of an hour.
"""

import importlib.util
import sys
from pathlib import Path

import msgspec
import pytest

PERF = Path(__file__).parents[2] / "perf"


@pytest.fixture(scope="module")
def coverage():
    """perf/coverage.py, by its path: a package of the same name measures the coverage of tests."""
    sys.path.insert(0, str(PERF))
    spec = importlib.util.spec_from_file_location("coverage_simulation", PERF / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(PERF))


@pytest.fixture
def first_cells(coverage, monkeypatch):
    """Only the first situation of each table is simulated: it takes a second, and all of them most of a minute."""
    for kind, (title, other, simulate) in coverage.TABLES.items():
        first = lambda rng, quick, simulate=simulate: iter([next(simulate(rng, quick))])  # noqa: E731
        monkeypatch.setitem(coverage.TABLES, kind, (title, other, first))


@pytest.mark.parametrize("kind", ["fixed", "uneven", "picks", "families", "differences", "fixed_differences", "marker"])
def test_coverage_when_simulated_quickly_then_the_promises_hold(coverage, first_cells, kind, capsys):
    assert coverage.main(["--quick", "--only", kind]) == 0
    assert "CPU-seconds" in capsys.readouterr().out


def test_coverage_when_an_interval_is_too_narrow_then_the_simulation_fails(coverage, first_cells, monkeypatch, capsys):
    honest = coverage.interval
    monkeypatch.setattr(coverage, "interval", lambda name, counts, population: honest(name, counts, 0.6, population))
    assert coverage.main(["--quick", "--only", "uneven"]) == 1
    assert "missed" in capsys.readouterr().err


def test_coverage_when_the_p_value_is_too_small_then_the_simulation_fails(coverage, first_cells, monkeypatch, capsys):
    honest = coverage.compare

    def eager(*args, **options):
        found = honest(*args, **options)
        return msgspec.structs.replace(found, p_value=found.p_value / 4)

    monkeypatch.setattr(coverage, "compare", eager)
    assert coverage.main(["--quick", "--only", "differences"]) == 1
    assert "missed" in capsys.readouterr().err
