"""People's labels: bound to content, drawn at random, and an interval for the corrected accuracy that holds."""

import io
import json
import random

import numpy as np
import pytest
from run_folders import append, manifest, question

from markscheme.cli import main
from markscheme.reporting.adjudicated import adjudicated, corrected_figures, worth
from markscheme.reporting.figures import caveats
from markscheme.reporting.summary import summarize
from markscheme.runs import Run
from markscheme.runs.adjudications import Label, content_of, draw_order, labels_journal, read_labels, read_order
from markscheme.types import Mark, Problem, Response, Verdict


def make_run(path, right, marked, samples):
    """A run whose responses say the truth in their text, with marks that may not; both are tables problem × sample."""
    problems = [Problem(id=f"p{n}", statement=f"What is {n} + 1?", gold=str(n + 1)) for n in range(len(right))]
    run = Run.create(path, manifest(len(problems), samples), [question(each) for each in problems])
    responses, marks = [], []
    for problem, truths, verdicts in zip(problems, right, marked, strict=True):
        for sample, (truth, verdict) in enumerate(zip(truths, verdicts, strict=True)):
            place = {"key": problem.key, "sample": sample}
            responses.append(Response(**place, text=f"I say {problem.gold if truth else 'no'} {sample}"))
            marks.append(Mark(**place, verdict=Verdict.CORRECT if verdict else Verdict.WRONG, protocol="math@1"))
    append(path / "responses.jsonl", responses)
    run.save_marks("math", marks)
    return run


def label(run, count, truth, who="ann"):
    """The next `count` responses of the order, judged by somebody who knows."""
    snapshot = run.snapshot()
    mine = {place for place, said in read_labels(snapshot).items() if who in said}
    todo = [each for each in draw_order(snapshot) if (each.key, each.sample) not in mine][:count]
    numbers = {key: at for at, key in enumerate(snapshot.keys)}
    with labels_journal(run.path, who) as journal:
        for each in todo:
            row = snapshot.row(numbers[each.key], each.sample)
            said = truth(numbers[each.key], each.sample)
            journal.write([Label(each.key, each.sample, content_of(snapshot.response(row)), said, who, "now")])


@pytest.fixture
def tables():
    """60 problems × 4 samples; the marker misses one in ten right answers and takes one wrong in twenty."""
    luck = np.random.default_rng(5)
    right = luck.random((60, 4)) < luck.beta(1, 1, 60)[:, None]
    marked = np.where(right, luck.random((60, 4)) > 0.1, luck.random((60, 4)) < 0.05)
    return right, marked


@pytest.fixture
def run(tmp_path, tables):
    return make_run(tmp_path / "run", *tables, 4)


def says(right):
    return lambda problem, sample: "right" if right[problem][sample] else "wrong"


def test_report_says_nothing_of_people_before_somebody_judged(run):
    """No label, no correction."""
    assert summarize(run).corrected is None
    assert adjudicated(run.snapshot(), "math") is None


def test_all_judged_is_the_truth(run, tables):
    """With every response judged the corrected accuracy is what people say, and only problems are uncertain."""
    right, marked = tables
    label(run, 1000, says(right))
    found = summarize(run).corrected
    assert found.judged == 240
    assert found.accuracy.value == pytest.approx(right.mean())
    assert found.correction == pytest.approx(right.mean() - marked.mean())
    assert found.false_positive.value == pytest.approx((marked & ~right).sum() / marked.sum())
    assert found.false_negative.value == pytest.approx((~marked & right).sum() / (~marked).sum())
    assert found.false_positive.low == found.false_positive.value == found.false_positive.high


def test_every_format_shows_the_corrected_figure(run, tables, capsys):
    """Whoever quotes a score from a run that people have judged sees what they said."""
    label(run, 60, says(tables[0]))
    for form in ("table", "markdown", "csv", "latex", "json"):
        assert main(["report", str(run.path), "--format", form]) == 0
        text = capsys.readouterr().out
        assert "corrected" in text
        assert "1 person judged 60 responses" in text


def test_label_of_a_text_that_changed_counts_no_more(run, tables):
    """A label is about what was read."""
    label(run, 10, says(tables[0]))
    assert len(read_labels(run.snapshot())) == 10
    first = read_order(run.path)[0]
    append(run.path / "responses.jsonl", [Response(key=first.key, sample=first.sample, text="something else")])
    assert len(read_labels(run.snapshot())) == 9


def test_order_stays_when_marks_change_and_grows_with_the_run(run, tables, tmp_path):
    """What was judged stays a random sample: nothing is drawn again because verdicts are new."""
    order = draw_order(run.snapshot())
    assert len({(each.key, each.sample) for each in order}) == 240
    run.save_marks("math", [Mark(verdict=Verdict.WRONG, protocol="math@1", key=e.key, sample=e.sample) for e in order])
    assert draw_order(run.snapshot()) == order
    assert draw_order(run.snapshot(), seed=9) == order


def test_prefix_of_the_order_has_every_stratum_and_both_lengths(run):
    """Small strata come early, so that few labels already say something of each."""
    snapshot = run.snapshot()
    order = draw_order(snapshot)
    strata = {each.stratum for each in order}
    assert {each.stratum for each in order[:12]} == strata == {"1:correct, plain", "1:not correct, plain"}


def test_people_who_differ_are_counted_as_such(run, tables):
    """Two people, their agreement, and a response on which they part is judged by neither."""
    label(run, 20, says(tables[0]), "ann")
    order = read_order(run.path)
    odd = {(each.key, each.sample) for each in order[:5]}
    keys = run.snapshot().keys

    def other(problem, sample):
        truth = bool(tables[0][problem][sample])
        return "right" if truth != ((keys[problem], sample) in odd) else "wrong"

    label(run, 20, other, "bob")
    found = summarize(run).corrected
    assert (found.people, found.judged, found.unsure) == (2, 15, 5)
    assert found.agreement == pytest.approx(0.75)


def test_torn_line_of_labels_loses_only_itself(run, tables):
    """Killed in mid-write, everything before counts, and going on writes whole lines."""
    label(run, 10, says(tables[0]))
    with (run.path / "adjudications" / "labels.ann.jsonl").open("ab") as out:
        out.write(b'{"key": "abc", "sam')
    assert len(read_labels(run.snapshot())) == 10
    label(run, 5, says(tables[0]))
    assert len(read_labels(run.snapshot())) == 15


def type_in(monkeypatch, keys):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))


def test_label_of_a_response_that_no_run_can_have_is_left_out(run, tables):
    label(run, 4, says(tables[0]))
    before = read_labels(run.snapshot())
    known = next(iter(before))[0]
    with (run.path / "adjudications" / "labels.ann.jsonl").open("ab") as out:
        for key, sample in (("stray", 0), (known, -1), (known, 10**30), (known, 2**20)):
            line = {"key": key, "sample": sample, "content": "x", "label": "right", "who": "ann", "when": "now"}
            out.write(json.dumps(line).encode() + b"\n")
    assert read_labels(run.snapshot()) == before


def test_terminal_is_blind_keeps_each_key_and_goes_on_where_it_stopped(run, capsys, monkeypatch):
    """Neither verdict nor extracted answer is shown; stopping loses nothing."""
    type_in(monkeypatch, "ynxu")  # x is no answer; then the input ends
    assert main(["adjudicate", str(run.path), "--who", "ann"]) == 0
    out = capsys.readouterr().out
    shown = out.partition("judged: of those")[0]
    assert "gold: " in shown
    assert "marked" not in shown
    assert "math@1" not in shown
    assert "2 judged: of those marked correct" in out
    assert "with 40 more labels the interval goes from ±" in out
    first = read_order(run.path)[:3]
    lines = [json.loads(line) for line in (run.path / "adjudications" / "labels.ann.jsonl").open()]
    assert [(line["key"], line["sample"], line["label"]) for line in lines] == [
        (each.key, each.sample, said) for each, said in zip(first, ("right", "wrong", "unsure"), strict=True)
    ]
    type_in(monkeypatch, "ybn")  # back, and the other answer
    main(["adjudicate", str(run.path), "--who", "ann"])
    fourth = read_order(run.path)[3]
    assert read_labels(run.snapshot())[fourth.key, fourth.sample] == {"ann": "wrong"}


def test_response_cannot_steer_the_terminal(tmp_path, capsys, monkeypatch):
    """Escapes in a response are shown, not obeyed."""
    run = make_run(tmp_path / "run", [[True]], [[True]], 1)
    key = run.questions()[0].problem.key
    append(run.path / "responses.jsonl", [Response(key=key, sample=0, text="\x1b]0;pwned\x07\x1b[2J 1 \u202e")])
    type_in(monkeypatch, "y")
    assert main(["adjudicate", str(run.path), "--who", "ann"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_name_that_leads_out_of_the_folder_is_refused(run, capsys):
    """A person's name becomes a file's."""
    assert main(["adjudicate", str(run.path), "--who", "../../x"]) == 2
    assert "name" in capsys.readouterr().err


def test_judged_sample_corrects_for_another_protocol_too(run, tables):
    """Labels belong to responses: a protocol that was made later is measured by the same ones."""
    right, _ = tables
    label(run, 240, says(right))
    keys = run.snapshot().keys
    strict = [
        Mark(verdict=Verdict.CORRECT if right[n][s] else Verdict.WRONG, protocol="normalized@1", key=key, sample=s)
        for n, key in enumerate(keys)
        for s in range(4)
    ]
    run.save_marks("normalized", strict)
    found = summarize(run, "normalized").corrected
    assert (found.false_positive.value, found.false_negative.value) == (0, 0)


@pytest.mark.parametrize("labels", [20, 60])
def test_corrected_interval_covers_with_errors_that_come_in_whole_problems(tmp_path, labels):
    """The marker here fails on a few problems altogether, as real ones do, and the order is the one people get."""
    covered, luck = 0, np.random.default_rng(labels)
    times = 40
    for time in range(times):
        truth = 0.5
        right = luck.random((50, 4)) < luck.beta(1, 1, 50)[:, None]
        marked = right & ~(luck.random(50) < 0.1)[:, None]
        run = make_run(tmp_path / str(time), right, marked, 4)
        snapshot = run.snapshot()
        draw_order(snapshot, seed=random.Random(time).randrange(10**6))
        label(run, labels, says(right))
        found = corrected_figures(run.snapshot(), "math", run.snapshot().counts("math"))
        covered += found.accuracy.low <= truth <= found.accuracy.high
    assert covered >= 35  # of 40: at 95 % fewer come up once in 70 such trials


def test_worth_says_what_more_labels_would_buy(run, tables):
    """The interval can only get narrower, and with all judged nothing more is promised."""
    label(run, 20, says(tables[0]))
    said = worth(run.snapshot(), "math")
    now, then = (float(part.strip("±")) for part in said.split("from ")[1].split(" or")[0].split(" to "))
    assert then < now
    label(run, 1000, says(tables[0]))
    assert "all are judged" in worth(run.snapshot(), "math")


def test_labels_when_all_are_unsure_then_no_figure_is_made_of_them(run):
    """Of nothing judged, "0.0 [0.0, 100.0] % are right" was said."""
    label(run, 20, lambda *_: "unsure")
    assert worth(run.snapshot(), "math") == "20 labels, all of them unsure: they say nothing about the marker"
    assert corrected_figures(run.snapshot(), "math", run.snapshot().counts("math")) is None


@pytest.mark.parametrize(("verdict", "unsaid"), [(True, "the others"), (False, "marked correct")])
def test_worth_when_the_marker_gave_one_verdict_only_then_nothing_is_said_of_the_other(
    tmp_path, tables, verdict, unsaid
):
    right, _ = tables
    run = make_run(tmp_path / "run", right, np.full(right.shape, verdict), 4)
    label(run, 20, says(right))
    summary = summarize(run)
    for said in (worth(run.snapshot(), "math"), *caveats(summary)):
        assert "nan" not in said
        assert unsaid not in said


def test_compare_corrects_the_difference_when_people_judged_both_runs(tmp_path, tables, capsys):
    """The marker fails on one model's way of writing: as marked it is worse, and to people both are the same."""
    right, _ = tables
    harsh = right & (np.arange(60) % 3 > 0)[:, None]
    first, second = make_run(tmp_path / "a", right, right, 4), make_run(tmp_path / "b", right, harsh, 4)
    label(first, 1000, says(right))
    main(["compare", str(first.path), str(second.path), "--anyway", "--json"])
    assert json.loads(capsys.readouterr().out)["corrected"] is None
    label(second, 1000, says(right))
    main(["compare", str(first.path), str(second.path), "--anyway", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["comparison"]["difference"]["estimate"] < -0.1
    assert told["corrected"]["estimate"] == pytest.approx(0, abs=1e-9)
    assert told["corrected"]["low"] < 0 < told["corrected"]["high"]
    main(["compare", str(first.path), str(second.path), "--anyway"])
    assert "corrected for marker errors found by people" in capsys.readouterr().out


def test_pass_at_k_is_corrected_between_its_bounds_in_every_format(run, tables, capsys):
    """The marker's errors move pass@4 too; how far depends on how they fall together, and the report says both ends."""
    right, _ = tables
    label(run, 240, says(right))
    found = summarize(run, pass_k=[1, 4]).corrected
    assert list(found.pass_at_k) == ["4"]
    low, high = found.pass_ranges["4"]
    assert low <= right.any(axis=1).mean() <= high
    figure = found.pass_at_k["4"]
    assert figure.low <= low <= figure.value <= high <= figure.high
    for form in ("table", "markdown", "csv", "latex", "json"):
        assert main(["report", str(run.path), "-k", "1,4", "--format", form]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "if errors fall on the same problems" in text
        assert "corrected pass@4" in text or form == "json"


def test_corrected_figure_of_a_run_with_missing_responses_is_told(run, tables, capsys):
    """Notes about the missing are about the marks; the corrected figure has none of its own to trip over."""
    label(run, 40, says(tables[0]))
    lost = run.questions()[0].problem.key
    append(run.path / "responses.jsonl", [Response(key=lost, sample=1, text="", error="timeout")])
    lines = [
        line
        for line in (run.path / "responses.jsonl").read_text().splitlines()
        if not ('"sample":1,' in line and lost in line and "timeout" not in line)
    ]
    (run.path / "responses.jsonl").write_text("\n".join(lines) + "\n")
    assert main(["report", str(run.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["corrected"]["accuracy"]["value"] is not None


def test_compare_corrects_a_difference_in_pass_at_k(tmp_path, tables, capsys):
    """The same for pass@4, between both ends; other metrics are not corrected, and nothing pretends so."""
    right, _ = tables
    harsh = right & (np.arange(60) % 3 > 0)[:, None]
    runs = [make_run(tmp_path / name, right, said, 4) for name, said in (("a", right), ("b", harsh))]
    for each in runs:
        label(each, 1000, says(right))
    pair = [str(each.path) for each in runs]
    assert main(["compare", *pair, "--anyway", "--metric", "pass@4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["comparison"]["difference"]["high"] < 0
    assert told["corrected"]["low"] < 0 < told["corrected"]["high"]
    main(["compare", *pair, "--anyway", "--metric", "pass^4", "--json"])
    assert json.loads(capsys.readouterr().out)["corrected"] is None


def test_unsure_labels_widen_the_interval_as_far_as_they_may_go(run, tables, capsys):
    """Whatever the truth of those that people could not tell, it lies within."""
    right, marked = tables
    label(
        run,
        60,
        lambda problem, sample: (
            "unsure" if right[problem][sample] != marked[problem][sample] else says(right)(problem, sample)
        ),
    )
    figures = summarize(run).corrected
    assert figures.unsure
    assert figures.accuracy.low <= right.mean() <= figures.accuracy.high
    judged = adjudicated(run.snapshot(), "math").marks
    low, high = (judged.settled(turned, not turned).shift(1, 0.95).low for turned in (True, False))
    assert low < high
    assert main(["report", str(run.path)]) == 0
    assert "intervals hold whatever these are" in " ".join(capsys.readouterr().out.split())


def test_labels_that_somebody_picked_are_left_out_and_told(run, tables, capsys):
    """The order is drawn at random; labels from the middle of it tell of nothing but themselves."""
    right, _ = tables
    label(run, 40, says(right))
    honest = summarize(run).corrected
    snapshot = run.snapshot()
    later = draw_order(snapshot)[120:130]
    with labels_journal(run.path, "ann") as journal:
        for each in later:
            content = content_of(snapshot.response(snapshot.row(each.key, each.sample)))
            journal.write([Label(each.key, each.sample, content, "wrong", "ann", "now")])
    figures = summarize(run).corrected
    assert (figures.picked, figures.judged) == (10, honest.judged)
    assert figures.accuracy == honest.accuracy
    main(["report", str(run.path)])
    assert "10 labels left out: picked by hand, not drawn at random" in " ".join(capsys.readouterr().out.split())


def test_responses_that_people_skipped_count_as_unsure(run, tables):
    """Leaving out the hard ones is no way to a narrow interval."""
    right, _ = tables
    label(run, 80, says(right))
    whole = summarize(run).corrected
    file = run.path / "adjudications" / "labels.ann.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:30] + lines[33:]))
    figures = summarize(run).corrected
    assert figures.skipped == 3
    assert figures.accuracy.high - figures.accuracy.low > whole.accuracy.high - whole.accuracy.low
