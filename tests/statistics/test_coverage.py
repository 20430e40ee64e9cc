"""The coverage simulation itself: a small part of it holds, and an interval that is too narrow is caught."""

import importlib.util
from pathlib import Path

import pytest

from markscheme.statistics import mean_interval


@pytest.fixture(scope="module")
def coverage():
    """perf/coverage.py, by its path: a package of the same name measures the coverage of tests."""
    file = Path(__file__).parents[2] / "perf" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_simulation", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["until", "alarms", "incomplete"])
def test_coverage_when_simulated_quickly_then_the_promises_hold(coverage, kind, capsys):
    assert coverage.main(["--quick", "--only", kind]) == 0
    assert "CPU-seconds" in capsys.readouterr().out


def test_coverage_when_an_interval_is_too_narrow_then_the_simulation_fails(coverage, monkeypatch, capsys):
    def narrow(mean, values, level, noise):
        found = mean_interval(values, 0.6, noise)
        return found.low <= mean <= found.high

    monkeypatch.setattr(coverage, "covers", narrow)
    assert coverage.main(["--quick", "--only", "incomplete"]) == 1
    assert "missed" in capsys.readouterr().err


def test_coverage_when_the_p_value_is_too_small_then_the_simulation_fails(coverage, monkeypatch, capsys):
    honest = coverage.sign_flip_p
    monkeypatch.setattr(coverage, "sign_flip_p", lambda change, n: (honest(change, n)[0] / 3, True))
    assert coverage.main(["--quick", "--only", "alarms"]) == 1
    assert "missed" in capsys.readouterr().err
