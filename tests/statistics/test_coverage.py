"""The coverage simulation itself: the first situation of each table holds, and an interval that is too narrow is caught.

`.ci/run` simulates more (`perf/coverage.py --quick`), and without `--quick` it takes some minutes.
"""

import importlib.util
import math
import sys
from pathlib import Path
from types import SimpleNamespace

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


@pytest.mark.parametrize(
    "kind",
    [
        "fixed",
        "missing",
        "picks",
        "families",
        "averages",
        "differences",
        "fixed_differences",
        "until",
        "marker",
        "rates",
        "ranks",
    ],
)
def test_coverage_when_simulated_quickly_then_the_promises_hold(coverage, first_cells, kind, capsys):
    assert coverage.main(["--quick", "--only", kind]) == 0
    assert "CPU-seconds" in capsys.readouterr().out


def test_coverage_when_an_interval_is_too_narrow_then_the_simulation_fails(coverage, first_cells, monkeypatch, capsys):
    honest = coverage.interval
    monkeypatch.setattr(coverage, "interval", lambda name, counts, population: honest(name, counts, 0.6, population))
    assert coverage.main(["--quick", "--only", "missing"]) == 1
    assert "missed" in capsys.readouterr().err


def test_coverage_when_the_p_value_is_too_small_then_the_simulation_fails(coverage, first_cells, monkeypatch, capsys):
    honest = coverage.difference_of

    def eager(*args):
        found = honest(*args)
        return SimpleNamespace(
            bounds=found.bounds, estimate=found.estimate, chance_above=lambda value: found.chance_above(value) ** 2
        )

    monkeypatch.setattr(coverage, "difference_of", eager)
    assert coverage.main(["--quick", "--only", "differences"]) == 1
    assert "missed" in capsys.readouterr().err


def test_others_when_nothing_is_clustered_then_as_statsmodels_has_them(coverage):
    from statsmodels.stats.proportion import proportion_confint  # two seconds in every worker, were it at the top

    others = sys.modules["others"]
    for right, size in ((3, 40), (20, 40), (40, 40)):
        error = math.sqrt(right / size * (1 - right / size) / size)
        for name, method in (("wilson", "wilson"), ("exact", "beta")):
            expected = proportion_confint(right, size, method=method)
            assert getattr(others, name)(right / size, error, size) == pytest.approx(expected, abs=1e-9)
