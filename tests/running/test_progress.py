"""What people see while they wait."""

import io

from rich.console import Console

from markscheme.running.live import Live
from markscheme.running.progress import Lines, Panel, Quiet, accuracy_so_far, plain_line, progress


def live():
    shown = Live(total=200)
    shown.answered_before, shown.done, shown.errors, shown.in_flight, shown.retrying = 20, 120, 3, 16, 2
    shown.tokens, shown.truncated, shown.limit = 50_000, 12, 16
    shown.trouble = "the server answered 503: [busy]"
    shown.started -= 10
    for problem in range(40):
        for sample in range(3):
            shown.scored(f"k{problem}", correct=problem % 2 == 0 or sample == 0)
    return shown


def test_line_when_running_then_has_every_figure(monkeypatch):
    shown = live()
    monkeypatch.setattr("time.monotonic", lambda: shown.started + 10)  # a busy machine has its own idea of ten seconds
    line = plain_line(shown)
    for figure in (
        *("120/200 done", "16 in flight", "2 retrying", "3 errors", "10.0 responses/s", "5,000 tokens/s"),
        *("10.0% truncated", "about 8 s left", "trying again: the server answered 503: [busy]"),
    ):
        assert figure in line


def test_accuracy_when_samples_repeat_then_the_problem_is_the_observation():
    # 20 problems all right, 20 with one of three: mean 2/3; spread between problems, not between samples.
    assert accuracy_so_far(live()) == "accuracy 66.7% ± 10.5%"


def test_accuracy_when_nothing_is_marked_then_nothing_is_claimed():
    assert accuracy_so_far(Live()) == ""


def test_panel_when_drawn_then_shows_the_figures_and_takes_brackets_literally():
    panel = Panel("aime-2024")
    text = io.StringIO()
    Console(file=text, width=120).print(panel._table(live()))
    assert "aime-2024" in text.getvalue()
    assert "60%" in text.getvalue()
    assert "[busy]" in text.getvalue()


def test_panel_when_stopping_then_says_so():
    stopping = live()
    stopping.state = "stopping: 16 requests are still in flight (Ctrl-C again drops them)"
    text = io.StringIO()
    Console(file=text, width=120).print(Panel("b")._table(stopping))
    assert "Ctrl-C again drops them" in text.getvalue()


def test_lines_when_nothing_changes_then_nothing_is_repeated(capsys):
    lines, shown = Lines("b"), live()
    lines.show(shown)
    lines.show(shown)
    assert capsys.readouterr().err.count("120/200") == 1
    shown.done += 1
    lines.show(shown)
    assert "121/200" in capsys.readouterr().err


def test_progress_when_quiet_or_no_terminal_then_fits(monkeypatch):
    assert type(progress("b", quiet=True)) is Quiet
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(progress("b"), Lines)
