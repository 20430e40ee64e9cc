"""A gate decides by intervals, says what would decide it, and is the same from every door."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.statistics import from_correct
from markscheme.statistics.comparison import as_interval, difference_of
from markscheme.statistics.gate import RunToRun, caught, decide, needed, run_to_run, widened
from markscheme.statistics.intervals import Interval

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def three(replayed):
    """A run in which three of four samples are right."""
    return replayed(lambda index: 3, limit=12)


@pytest.fixture
def policy(tmp_path):
    def write(text):
        (tmp_path / "gate.toml").write_text(text)
        return tmp_path / "gate.toml"

    return write


@pytest.mark.parametrize(
    ("limits", "decision", "code"),
    [
        ("score = 20", "pass", 0),
        ("score = 95", "fail", 4),
        ("score = 76", "inconclusive", 5),
        ("truncation = 50", "pass", 0),
        ("[benchmarks.aime-sample]\nscore = 20\nlevel = 0.5", "pass", 0),
    ],
)
def test_gate_when_the_interval_is_on_a_side_then_it_decides_so(three, policy, capsys, limits, decision, code):
    run = three
    file = policy(limits)
    assert ms.gate(file, run).decision == decision
    assert main(["gate", str(file), str(run.path)]) == code
    shown = capsys.readouterr().out
    assert f"gate: {decision}" in shown
    assert "with 80 % power" in shown
    assert ("would decide it" in shown) == (decision == "inconclusive")


def test_gate_when_there_is_a_baseline_then_the_loss_decides_and_ci_files_say_so(replayed, policy, tmp_path, capsys):
    base, head = replayed(lambda index: 4, limit=12), replayed(lambda index: 1, limit=12, name="head")
    file = policy("worse_by = 5")
    arguments = ["gate", str(file), str(head.path), "--against", str(base.path)]
    files = ["--junit", str(tmp_path / "gate.xml"), "--markdown", str(tmp_path / "gate.md")]
    assert main([*arguments, *files]) == 4
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert suite.attrib["failures"] == "1"
    assert "must be ≥ -5.0 points" in suite[0][0].attrib["message"]
    assert "**Gate: fail**" in (tmp_path / "gate.md").read_text()
    assert "a loss of" in capsys.readouterr().out
    assert ms.gate(file, base, against=head).decision == "pass"
    with pytest.raises(UsageError, match="against"):
        ms.gate(file, head)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sets no limit"),
        ("scoer = 5", "did you mean score"),
        ("score = 0.6", "write 60, not 0.6"),
        ("score = 101", "from 0 to 100"),
        ('score = "high"', "Expected `float"),
        ("[benchmarks.gsm8k]\nscore = 5", "no run"),
        ("disagreement = 5", "nothing can disagree"),
    ],
)
def test_policy_when_it_has_a_mistake_then_one_sentence(three, policy, text, said, capsys):
    assert main(["gate", str(policy(text)), str(three.path)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_gate_when_protocols_disagree_then_their_share_is_limited(replayed, policy):
    run = replayed(lambda index: 2, limit=12)
    assert main(["mark", str(run.path), "--protocol", "math"]) == 0
    assert ms.gate(policy("disagreement = 60"), run).decision == "pass"


def test_report_when_it_may_not_be_below_then_its_exit_code_is_the_gates(three, capsys):
    run = str(three.path)
    assert [main(["report", run, "--fail-below", limit]) for limit in ("20", "99.9", "75")] == [0, 4, 5]
    assert main(["report", run, "--fail-below", "200"]) == 2


def test_run_to_run_when_runs_drift_together_then_the_excess_is_found_and_widens():
    random = np.random.default_rng(3)
    rates = random.uniform(0.2, 0.8, 200)
    steady = [from_correct([8] * 200, random.binomial(8, rates)) for _ in range(6)]
    drifting = [
        from_correct([8] * 200, random.binomial(8, np.clip(rates + shift, 0, 1)))
        for shift in (-0.1, -0.05, 0, 0.05, 0.1, 0)
    ]
    assert run_to_run("accuracy", steady).variance ** 0.5 < 0.02
    noise = run_to_run("accuracy", drifting)
    assert noise.variance**0.5 == pytest.approx(np.std([-0.1, -0.05, 0, 0.05, 0.1, 0], ddof=1), abs=0.02)
    found = Interval(estimate=0.5, low=0.48, high=0.52, level=0.95, method="", problems=200)
    assert widened(found, noise, 2, (0, 1)).low < 0.3
    assert widened(found, RunToRun(), 2, (0, 1)) == found


def test_gate_when_simulated_then_false_alarms_and_power_are_as_stated():
    """At the limit it fails in at most 2.5 % or so; at the loss it names, in about 80 %."""
    random, problems, n = np.random.default_rng(5), 100, 4

    def loss(size):
        rates = random.beta(1.2, 0.9, problems)
        worse = np.clip(rates - size + random.normal(0, 0.05, problems), 0, 1)
        worse += rates.mean() - size - worse.mean()
        a, b = (from_correct([n] * problems, random.binomial(n, np.clip(each, 0, 1))) for each in (rates, worse))
        return as_interval(difference_of("accuracy", a, b, "problems drawn"), 0.95, problems)

    alarms = [decide(loss(0.02), -0.02, at_least=True) == "fail" for _ in range(400)]
    assert np.mean(alarms) < 0.05
    named = -caught(loss(0.02), -0.02, at_least=True)
    found = [decide(loss(named), -0.02, at_least=True) == "fail" for _ in range(400)]
    assert 0.68 < np.mean(found) < 0.93


def test_needed_when_asked_then_so_many_samples_decide_it():
    random = np.random.default_rng(7)
    rates = random.uniform(0.3, 0.7, 50)
    pilot = from_correct([4] * 50, random.binomial(4, rates))
    from markscheme.statistics import interval

    found = interval("accuracy", pilot, population="these problems")
    more = needed("accuracy", [pilot], found, found.estimate - 0.03, "these problems", RunToRun())
    assert 8 <= more.samples <= 40
    again = from_correct([more.samples] * 50, random.binomial(more.samples, np.full(50, found.estimate)))
    assert interval("accuracy", again, population="these problems").half_width < 0.045
    assert needed("accuracy", [pilot], found, found.estimate, "these problems", RunToRun()).samples is None


def test_fixture_when_a_gate_fails_then_its_test_fails_with_the_summary(three, policy, tmp_path):
    run = three
    file = policy("score = 95")
    test = f'def test_score(markscheme_gate):\n    markscheme_gate("{file}", "{run.path}")\n'
    loose = f'\ndef test_open(markscheme_gate):\n    assert markscheme_gate("{policy("score = 95")}", "{run.path}", open="pass")\n'
    (tmp_path / "test_gate.py").write_text(test + loose)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_gate.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "2 failed" in done.stdout
    assert "**Gate: fail**" in done.stdout


@pytest.mark.needs("yaml")
@pytest.mark.parametrize(("limit", "then", "code"), [(20, "pass", 0), (95, "fail", 4), (76, "inconclusive", 5)])
def test_action_when_its_step_runs_then_it_has_the_gates_code_and_output(
    three, policy, tmp_path, programs, limit, then, code
):
    import yaml

    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][1]
    run = three
    given = {
        "POLICY": str(policy(f"score = {limit}")),
        "RUNS": str(run.path),
        "AGAINST": "",
        "AA": "",
        "JUNIT": "gate.xml",
    }
    paths = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_OUTPUT": str(tmp_path / "output")}
    environment = {**os.environ, **given, **paths, "PATH": f"{programs}:{os.environ['PATH']}", "INCONCLUSIVE": "fail"}
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(bash, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert (tmp_path / "output").read_text() == f"decision={then}\n"
    assert f"**Gate: {then}**" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "gate.xml").exists()
