"""Odd run folders of every kind: report, viewer, compare, audit, resume and the Python API must give the same numbers.

What the numbers must be is reckoned here once more, from the plain lines and in the plainest way.
"""

import json
import os
import shutil
from collections import defaultdict
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import markscheme as ms
from markscheme.cli import main
from markscheme.config import make_config
from markscheme.marking import get_protocol
from markscheme.marking.bulk.audit import audit
from markscheme.marking.bulk.outputs import Outputs
from markscheme.reporting.comparing import Terms, compare_runs
from markscheme.reporting.results import result_lines
from markscheme.reporting.summary import finish, summarize
from markscheme.running.live import Live
from markscheme.runs import Manifest, Run
from markscheme.types import Mark, Message, Problem, Prompt, Question, Response, Verdict
from markscheme.view.library import Library
from markscheme.view.links import Links
from markscheme.view.overview import overview
from markscheme.view.site import Site

PROBLEMS = [Problem(id=f"p{n}", statement=f"What is {n} + {n}?", gold=str(2 * n)) for n in range(3)]
QUESTIONS = [Question(problem=one, prompt=Prompt(messages=(Message("user", one.statement),))) for one in PROBLEMS]
SAMPLES = 4
LABEL = get_protocol("math").label


def manifest(**changes):
    plain = Manifest(
        config=make_config(benchmark="sums", model="solver", samples=SAMPLES),
        benchmark="sums", model="solver", protocol=LABEL, samples=SAMPLES, problems=len(PROBLEMS), status="complete",
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def response(problem, sample, *, right=True, **fields):
    text = {} if "error" in fields else {"text": f"So \\boxed{{{int(problem.gold) + (not right)}}}."}
    return Response(key=problem.key, sample=sample, problem_id=problem.id, **text, **fields)


def judged(one):
    problem = next(problem for problem in PROBLEMS if problem.key == one.key)
    return ms.mark(one, problem, protocol="math")


def append(file, *items):
    with file.open("ab") as out:
        for item in items:
            out.write((item if isinstance(item, bytes) else msgspec.json.encode(item)) + b"\n")


def plain_folder(path, **changes):
    """Every problem four times, every other sample right, marked and reported."""
    run = Run.create(path, manifest(counts={"correct": 6, "wrong": 6}, **changes), QUESTIONS)
    kept = [
        response(one, sample, right=bool((sample + n) % 2)) for n, one in enumerate(PROBLEMS) for sample in range(4)
    ]
    append(path / "responses.jsonl", *kept)
    append(path / "marks" / "math.jsonl", *map(judged, kept))
    finish(run)
    return path


def change_manifest(path, **changes):
    stored = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(stored | changes))


# What may be wrong with a folder ---------------------------------------------------------------------------------


def samples_beyond_n(path):
    more = [response(PROBLEMS[0], sample) for sample in range(4, 9)]
    append(path / "responses.jsonl", *more)
    append(path / "marks" / "math.jsonl", *map(judged, more))


def stray_problem(path):
    append(path / "responses.jsonl", *(Response(key="stray", sample=n, text="\\boxed{1}") for n in range(6)))
    append(
        path / "marks" / "math.jsonl",
        *(Mark(key="stray", sample=n, verdict=Verdict.CORRECT, protocol=LABEL) for n in range(6)),
    )


def mark_stayed_when_its_response_became_an_error(path):
    lines = (path / "responses.jsonl").read_bytes().splitlines(keepends=True)
    (path / "responses.jsonl").write_bytes(b"".join(lines[1:]))
    append(path / "responses.jsonl", response(PROBLEMS[0], 0, error="503", error_kind="server"))


def error_after_an_answer(path):
    failed = response(PROBLEMS[0], 1, error="late", error_kind="server")
    append(path / "responses.jsonl", failed)
    append(path / "marks" / "math.jsonl", judged(failed))


def error_then_answer(path):
    lines = (path / "responses.jsonl").read_bytes()
    (path / "responses.jsonl").write_bytes(b"")
    append(path / "responses.jsonl", *(response(PROBLEMS[1], n, error="503") for n in range(4)))
    append(path / "responses.jsonl", lines.rstrip())


def some_errors(path):
    for file in (path / "responses.jsonl", path / "marks" / "math.jsonl"):
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[:9]))
    append(path / "responses.jsonl", *(response(PROBLEMS[2], n, error="no", error_kind="k") for n in range(1, 4)))


def unknown_verdict(path):
    append(path / "marks" / "math.jsonl", b'{"verdict":"sublime","protocol":"%s","key":"%s","sample":3}'
           % (LABEL.encode(), PROBLEMS[0].key.encode()))  # fmt: skip


def torn_and_damaged_lines(path):
    lines = (path / "responses.jsonl").read_bytes().splitlines(keepends=True)
    lines[2] = lines[2][:-30] + b"\n"
    lines[5] = b'\xff\xfe{"key":\n'
    (path / "responses.jsonl").write_bytes(b"".join(lines)[:-20])
    with (path / "marks" / "math.jsonl").open("ab") as out:
        out.write(b"{}\nnull\n[[[\n" + b'{"verdict":"correct","key":"')


def several_writers(path):
    lines = (path / "responses.jsonl").read_bytes().splitlines()
    (path / "responses.jsonl").unlink()
    for n, line in enumerate(lines):
        append(path / f"responses.{n % 3}.jsonl", line)
    append(path / "responses.0.jsonl", response(PROBLEMS[0], 1, error="late"))
    append(path / "responses.2.jsonl", response(PROBLEMS[0], 0, right=True))
    append(path / "marks" / "math.jsonl", judged(response(PROBLEMS[0], 0, right=True)))


def marks_under_another_version(path):
    old = [Mark(key=one.key, sample=n, verdict=Verdict.WRONG, protocol="math@0") for one in PROBLEMS for n in range(4)]
    append(path / "marks" / "math.jsonl", *old)


def marks_only_under_another_version(path):
    file = path / "marks" / "math.jsonl"
    file.write_bytes(file.read_bytes().replace(LABEL.encode(), b"math@0"))


def marks_without_labels_and_first_samples(path):
    """As the first versions wrote them: no label, and no sample where it is 0."""
    lines = [json.loads(line) for line in (path / "marks" / "math.jsonl").read_text().splitlines()]
    old = [{k: v for k, v in line.items() if k != "protocol" and (k, v) != ("sample", 0)} for line in lines]
    (path / "marks" / "math.jsonl").write_text("".join(json.dumps(line) + "\n" for line in old))


def duplicate_lines(path):
    for file in (path / "responses.jsonl", path / "marks" / "math.jsonl"):
        file.write_bytes(file.read_bytes() * 2)


def problem_line_missing(path):
    lines = (path / "problems.jsonl").read_bytes().splitlines(keepends=True)
    (path / "problems.jsonl").write_bytes(b"".join(lines[1:]))


def problem_line_damaged(path):
    lines = (path / "problems.jsonl").read_bytes().splitlines(keepends=True)
    (path / "problems.jsonl").write_bytes(lines[0] + b'{"problem": {"id": \n' + lines[2])


def problem_line_twice(path):
    (path / "problems.jsonl").write_bytes((path / "problems.jsonl").read_bytes() * 2)


def planned_in_rounds(path):
    rounds = [{"size": 2, "asked": [2, 2, 2]}, {"size": 1, "asked": [0, 2, 1]}]
    (path / "rounds.json").write_text(json.dumps(rounds))


def blank_lines_and_windows_ends(path):
    file = path / "responses.jsonl"
    file.write_bytes(b"\n\r\n" + file.read_bytes().replace(b"\n", b"\r\n") + b"\n\n")


def fields_of_a_newer_version(path):
    lines = [json.loads(line) for line in (path / "responses.jsonl").read_text().splitlines()]
    for line in lines:
        line |= {"quantum": {"x": [1]}, "finish_reason": "collapsed", "latency": 1e300, "attempts": 10**9}
    (path / "responses.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def linked_files(path):
    (path / "responses.jsonl").rename(path / "kept.jsonl")
    (path / "responses.jsonl").symlink_to("kept.jsonl")


def answered_again_differently(path):
    again = response(PROBLEMS[0], 0, right=True)
    append(path / "responses.jsonl", again)
    append(path / "marks" / "math.jsonl", judged(again))


def marks_of_other_protocols(path):
    shutil.copy(path / "marks" / "math.jsonl", path / "marks" / "aime.jsonl")
    (path / "marks" / "notes.txt").write_text("not ours")


def marks_under_two_hundred_versions_before_its_own(path):
    file = path / "marks" / "math.jsonl"
    own = file.read_bytes()
    file.unlink()
    append(file, *(Mark(key=PROBLEMS[0].key, verdict=Verdict.WRONG, protocol=f"math@v{n}") for n in range(200)))
    append(file, own.rstrip())


def manifest_of_fewer_problems(path):
    change_manifest(path, problems=1)


def manifest_of_more_problems(path):
    change_manifest(path, problems=5)


def manifest_with_a_field_of_another_type(path):
    change_manifest(path, usage="a lot", packages=[1], mood="fine")


def byte_order_marks_and_zeros(path):
    for file in (path / "responses.jsonl", path / "marks" / "math.jsonl"):
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"\xef\xbb\xbf" + b"".join(lines[:4]) + b"\0" * 4096 + b"".join(lines[4:]) + b"\0" * 99)


def samples_of_every_size_and_type(path):
    for sample in (10**30, -1, 2**63, 2**20, 10**6, "0", True, 1.5, None):
        line = {"key": PROBLEMS[0].key, "sample": sample}
        append(path / "responses.jsonl", json.dumps(line | {"text": "no"}).encode())
        append(path / "marks" / "math.jsonl", json.dumps(line | {"verdict": "wrong", "protocol": LABEL}).encode())


def marked_again_and_copied_so_that_the_old_report_is_the_newest_file(path):
    marks_altered_and_copied(path, b"malformed")
    change_manifest(path, counts={"wrong": 6, "malformed": 6})


def marks_altered_and_copied(path, verdict=b"unmarkable"):
    file = path / "marks" / "math.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"verdict":"correct"', b'"verdict":"%s"' % verdict))
    for old in (file, path / "responses.jsonl", path / "problems.jsonl"):
        os.utime(old, (1, 1))


def responses_gone(path):
    (path / "responses.jsonl").unlink()


def problems_gone(path):
    (path / "problems.jsonl").unlink()


ODD = [
    *(samples_beyond_n, stray_problem, mark_stayed_when_its_response_became_an_error, error_after_an_answer),
    *(error_then_answer, some_errors, unknown_verdict, torn_and_damaged_lines, several_writers),
    *(marks_under_another_version, marks_only_under_another_version, marks_without_labels_and_first_samples),
    *(duplicate_lines, problem_line_missing, problem_line_damaged, problem_line_twice, planned_in_rounds),
    *(blank_lines_and_windows_ends, fields_of_a_newer_version, linked_files, answered_again_differently),
    *(marks_of_other_protocols, marks_under_two_hundred_versions_before_its_own, manifest_of_fewer_problems),
    *(manifest_of_more_problems, manifest_with_a_field_of_another_type, byte_order_marks_and_zeros),
    *(samples_of_every_size_and_type, marked_again_and_copied_so_that_the_old_report_is_the_newest_file),
    *(responses_gone, problems_gone, marks_altered_and_copied),
]


# Marks that are not ours: an audit judges anew.
OTHER_OPINIONS = (marked_again_and_copied_so_that_the_old_report_is_the_newest_file, marks_altered_and_copied)


# What the numbers must be ----------------------------------------------------------------------------------------


def readable(file):
    for line in file.read_bytes().split(b"\n") if file.exists() else ():
        try:
            item = json.loads(line.decode())
        except ValueError:
            continue
        if isinstance(item, dict):
            yield item


def reckoned(path, protocol=LABEL):
    """Answers, errors and verdicts by (problem, sample), by the rules and without any of our code."""
    rounds = json.loads((path / "rounds.json").read_text()) if (path / "rounds.json").exists() else []
    keys = list(dict.fromkeys(one["problem"]["key"] for one in readable(path / "problems.jsonl") if "problem" in one))
    wanted = {key: sum(each["asked"][n] for each in rounds) if rounds else SAMPLES for n, key in enumerate(keys)}
    states = {}
    for file in sorted(path.glob("responses*.jsonl")):
        for one in readable(file):
            sample = one.get("sample")
            if type(sample) is int and sample in range(wanted.get(one.get("key"), 0)):
                place = one["key"], one["sample"]
                states[place] = "answer" if "error" not in one or states.get(place) == "answer" else "error"
    marks = [one for one in readable(path / "marks" / "math.jsonl") if "verdict" in one and "key" in one]
    labels = [one.get("protocol", "") for one in marks]
    label = protocol if protocol in labels or not labels else labels[-1] or protocol
    verdicts = {place: "error" for place, state in states.items() if state == "error"}
    for one in marks:
        place = one["key"], one.get("sample", 0)
        if (
            type(place[1]) is int
            and one.get("protocol", "") in (label, "")
            and states.get(place) == "answer"
            and one["verdict"] != "error"
        ):
            verdicts[place] = one["verdict"]
    known = {place: verdict for place, verdict in verdicts.items() if verdict in list(Verdict)}
    problems = max(json.loads((path / "manifest.json").read_text())["problems"], len(keys))
    return states, known, sum(wanted.values()) if rounds else problems * SAMPLES


def accuracy_of(verdicts):
    """The mean over problems of the share of right samples; None where nothing is scored."""
    right = defaultdict(list)
    for (key, _), verdict in verdicts.items():
        if verdict != "error":
            right[key].append(verdict == "correct")
    return float(np.mean([np.mean(samples) for samples in right.values()])) if right else None


def counted(verdicts):
    return {name: list(verdicts).count(name) for name in set(verdicts)}


@pytest.mark.parametrize("make_odd", ODD, ids=lambda make: make.__name__)
def test_surfaces_when_a_folder_is_odd_then_all_give_the_same_numbers(make_odd, tmp_path, capsys):
    path = plain_folder(tmp_path / "odd")
    make_odd(path)
    states, verdicts, expected = reckoned(path)
    answered = list(states.values()).count("answer")
    accuracy = accuracy_of(verdicts)

    run = ms.load(path)
    report = summarize(run)
    assert report.accuracy.value == pytest.approx(accuracy)
    assert report.verdicts == counted(verdicts.values())
    assert (report.responses, report.missing) == (answered, expected - answered)
    assert main(["report", str(path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    printed = printed[0] if isinstance(printed, list) else printed.get("runs", [printed])[0]
    assert printed["accuracy"]["value"] == report.accuracy.value

    site = Site(Library(tmp_path), Links("0"), patience=30).begin()
    line = overview(site, site.entry("odd")).value
    assert line.accuracy.value == report.accuracy.value
    assert (line.responses, line.expected) == (report.responses, expected)
    assert {name: times for name, times in line.verdicts.items() if times} == report.verdicts
    assert site.open("odd").snapshot.counts("math").totals() == run.snapshot().counts(report.protocol).totals()
    site.background.close()

    if accuracy is not None:
        both = compare_runs([run, Run.open(plain_folder(tmp_path / "twin"))], Terms(metric="accuracy", anyway=True))
        assert both.comparison.a.estimate == pytest.approx(report.accuracy.value)
    handed_on = [[row["verdict"] for row in rows] for rows in (run.rows(), result_lines(run, report.protocol))]
    for names in handed_on:
        assert counted([*map(str, filter(None, names))]) == report.verdicts
    if states:
        beside = audit(Outputs(path), ["math"])
        assert (beside.responses, beside.errors) == (len(states), list(states.values()).count("error"))
    if states and not unmarked(run) and report.protocol == LABEL and make_odd not in OTHER_OPINIONS:
        assert beside.scores[0].score == pytest.approx(report.accuracy.value)

    assert {(one.key, one.sample): "error" if one.error else "answer" for one in run.responses()} == states
    stored = {(one.key, one.sample): str(one.verdict) for one in run.marks("math")}
    assert stored.items() <= verdicts.items()
    assert {place for place, verdict in verdicts.items() if verdict != "error"} <= stored.keys()
    snapshot = run.snapshot()
    state = Live.resumed(snapshot, run.manifest.protocol)
    assert len(state.answered) == report.responses


def unmarked(run):
    snapshot = run.snapshot()
    return int((snapshot.unmarked("math") & ~snapshot.failed).sum())


def test_surfaces_when_the_marks_are_gone_then_all_say_so_and_resume_makes_them_again(tmp_path, capsys):
    path = plain_folder(tmp_path / "odd")
    before = summarize(Run.open(path)).accuracy
    shutil.rmtree(path / "marks")
    for command in (["report", str(path)], ["compare", str(path), str(plain_folder(tmp_path / "twin"))]):
        assert main(command) == 2
        assert f"`markscheme mark {path} --protocol math` does it" in " ".join(capsys.readouterr().err.split())
    assert main(["mark", str(path), "--protocol", "math"]) == 0
    assert summarize(Run.open(path)).accuracy == before
    shutil.rmtree(path / "marks")
    assert main(["resume", str(path), "--json"]) == 0
    assert summarize(Run.open(path)).accuracy == before


@pytest.mark.parametrize(
    "plan",
    [
        b'[{"size": 1, "asked": [-1, 9, 9]}]',
        b'[{"size": 1, "asked": [%d, 9, 9]}]' % 10**30,
        b"[{",
        b"\xff",
        b'[{"size": 2, "asked": [1, 1]}]',
        b"7",
        b"[" * 100_000,
    ],
)
def test_surfaces_when_the_plan_cannot_be_read_then_each_says_so_in_a_sentence(tmp_path, capsys, plan):
    path = plain_folder(tmp_path / "odd")
    twin = plain_folder(tmp_path / "twin")
    (path / "rounds.json").write_bytes(plan)
    for command in ("report", "resume", "audit", "mark"):
        assert main([command, str(path)]) == 1, command
        said = capsys.readouterr().err
        assert "rounds.json" in said
        assert "Traceback" not in said
    site = Site(Library(tmp_path), Links("0"), patience=30).begin()
    assert overview(site, site.entry("odd")).value is None
    assert overview(site, site.entry("twin")).value.accuracy.value == summarize(Run.open(twin)).accuracy.value
    site.background.close()


def test_texts_when_a_file_is_replaced_while_they_are_read_then_says_so(tmp_path):
    path = plain_folder(tmp_path / "odd")
    run = Run.open(path)
    streamed = run.responses()
    next(streamed)
    snapshot = run.snapshot()
    lines = (path / "responses.jsonl").read_bytes().splitlines(keepends=True)
    (path / "responses.jsonl").write_bytes(b"".join(reversed(lines)))
    with pytest.raises(ms.MarkschemeError, match="was replaced while it was being read"):
        list(snapshot.responses())
    assert snapshot.response(0) is None
    assert run.snapshot().answered == 12  # read anew
    assert len(list(run.responses())) == 12


LINES = st.lists(
    st.tuples(
        st.sampled_from(["response", "error", "mark", "error mark", "junk", "torn"]),
        st.sampled_from([*(one.key for one in PROBLEMS), "stray"]),
        st.integers(0, 5),
        st.sampled_from(["correct", "wrong", "sublime"]),
        st.sampled_from([LABEL, LABEL, "math@0", ""]),
        st.sampled_from(["responses.jsonl", "responses.a.jsonl", "responses.b.jsonl"]),
    ),
    max_size=60,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(lines=LINES, cut=st.integers(0, 60))
def test_snapshot_when_lines_come_in_any_order_then_as_reckoned_and_as_if_read_at_once(lines, cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "run"
    run = Run.create(path, manifest(), QUESTIONS)
    for number, (kind, key, sample, verdict, label, file) in enumerate(lines):
        if number == cut:
            run.snapshot()  # read half of it, and the rest later
        if kind in ("response", "error"):
            error = {"error": "no"} if kind == "error" else {"text": str(number)}
            append(path / file, Response(key=key, sample=sample, **error))
        elif kind in ("mark", "error mark"):
            word = "error" if kind == "error mark" else verdict
            mark = {"verdict": word, "key": key, **({"sample": sample} if sample else {}), "protocol": label}
            append(path / "marks" / "math.jsonl", json.dumps(mark).encode())
        else:
            append(path / (file if kind == "junk" else "marks/math.jsonl"), b'{"key": "torn', b"null")
    states, verdicts, _ = reckoned(path)
    for snapshot in (run.snapshot(), Run.open(path).snapshot(), replace(run.snapshot(), version=0)):
        rows = list(zip(snapshot.problem.tolist(), snapshot.sample.tolist(), strict=True))
        assert {(PROBLEMS[n].key, sample) for n, sample in rows} == states.keys()
        assert rows == sorted(rows)
        codes = {place: int(code) for place, code in zip(rows, snapshot.verdict("math"), strict=True)}
        shown = {
            (PROBLEMS[n].key, sample): str(list(Verdict)[code]) for (n, sample), code in codes.items() if code >= 0
        }
        assert shown == verdicts
