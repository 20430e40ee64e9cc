"""The run folder: what is written can be read, and damage costs only the damaged line."""

import json

import msgspec
import pytest

from markscheme.config import make_config
from markscheme.errors import JournalError
from markscheme.runs.folder import FORMAT, Manifest, Run, write_atomically
from markscheme.types import Mark, Message, Problem, Prompt, Question, Response, Verdict

PROBLEM = Problem(id="1", statement="1+1?", gold="2")
QUESTION = Question(problem=PROBLEM, prompt=Prompt(messages=(Message("user", "1+1?"),)))
KEY = PROBLEM.key
MANIFEST = Manifest(
    format=FORMAT,
    config=make_config(benchmark="b", model="solver"),
    benchmark="b",
    model="solver",
    protocol="math@1",
    samples=3,
    problems=1,
)


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "run", MANIFEST, [QUESTION])


def journal(run: Run, *responses: Response, name: str = "responses.jsonl") -> None:
    with (run.path / name).open("ab") as out:
        for response in responses:
            out.write(msgspec.json.encode(response) + b"\n")


def test_run_when_opened_again_then_is_the_same(run):
    again = Run.open(run.path)
    assert again.manifest == MANIFEST
    assert again.questions() == [QUESTION]


def test_run_when_folder_already_holds_one_then_refused_with_the_way_on(run):
    with pytest.raises(JournalError, match="markscheme resume"):
        Run.create(run.path, MANIFEST, [QUESTION])


def test_run_when_folder_is_no_run_then_says_so(tmp_path):
    with pytest.raises(JournalError, match=r"no manifest\.json"):
        Run.open(tmp_path)


def test_run_when_written_by_a_newer_version_then_says_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr("markscheme.runs.folder.FORMAT", 2)
    Run.create(tmp_path / "newer", MANIFEST, [QUESTION])
    assert Run.open(run.path).manifest.format == 1
    monkeypatch.undo()
    with pytest.raises(JournalError, match="newer markscheme"):
        Run.open(tmp_path / "newer")


def test_manifest_when_it_has_unknown_fields_then_still_read(run):
    raw = msgspec.json.decode((run.path / "manifest.json").read_bytes())
    raw["from_the_future"] = 1
    raw["config"]["also_new"] = [2]
    (run.path / "manifest.json").write_bytes(msgspec.json.encode(raw))
    assert Run.open(run.path).manifest == MANIFEST


def test_responses_when_a_line_is_torn_then_only_it_is_lost(run):
    journal(run, Response(key=KEY, sample=0, text="a"))
    with (run.path / "responses.jsonl").open("ab") as out:
        out.write(b'{"key":"%s","sample":1,"te\n' % KEY.encode())
    journal(run, Response(key=KEY, sample=2, text="c"))
    assert [response.text for response in run.responses()] == ["a", "c"]
    assert run.snapshot().damage == {"responses.jsonl": 1}


def test_responses_when_error_then_success_then_success_counts(run):
    journal(run, Response(key=KEY, sample=0, error="boom"), Response(key=KEY, sample=0, text="good"))
    assert [response.text for response in run.responses()] == ["good"]


def test_responses_when_success_then_error_from_another_writer_then_success_stays(run):
    journal(run, Response(key=KEY, sample=0, text="good"))
    journal(run, Response(key=KEY, sample=0, error="late"), name="responses.rank1.jsonl")
    assert [response.text for response in run.responses()] == ["good"]


def test_responses_when_several_writers_then_all_are_read(run):
    journal(run, Response(key=KEY, sample=0, text="a"))
    journal(run, Response(key=KEY, sample=1, text="b"), name="responses.rank1.jsonl")
    assert {response.text for response in run.responses()} == {"a", "b"}


def test_marks_when_saved_then_read_by_bare_name_or_label(run):
    mark = Mark(verdict=Verdict.CORRECT, protocol="math@1", key=KEY, sample=0)
    journal(run, Response(key=KEY, sample=0, text="a"))
    run.save_marks("math@1", [mark])
    assert list(run.marks("math")) == [mark] == list(run.marks("math@1"))
    assert run.snapshot().protocols == ["math"]


@pytest.mark.parametrize(
    ("lines", "verdicts"),
    [
        ([], []),  # the response's line was damaged: its mark stands for nothing
        ([Response(key=KEY, sample=0, error="500")], ["error"]),  # asked again, in vain
        ([Response(key=KEY, sample=0, error="500"), Response(key=KEY, sample=0, text="a")], ["wrong"]),
    ],
)
def test_marks_when_the_response_is_gone_or_an_error_then_old_verdicts_do_not_stand_for_it(run, lines, verdicts):
    old = [Mark(verdict=verdict, key=KEY, sample=0) for verdict in (Verdict.ERROR, Verdict.CORRECT, Verdict.ERROR)]
    run.save_marks("math", [*old, Mark(verdict=Verdict.WRONG, key=KEY, sample=0), old[0]])
    journal(run, *lines)
    assert [mark.verdict for mark in run.marks("math")] == verdicts


def test_response_when_a_small_fact_cannot_be_read_then_only_the_fact_is_lost(run):
    journal(run, Response(key=KEY, sample=0, text="a", finish_reason="stop"))
    file = run.path / "responses.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"stop"', b'"st\\u0000p"'))
    assert [(one.text, one.finish_reason) for one in run.responses()] == [("a", None)]
    assert run.snapshot().answered == 1


@pytest.mark.parametrize("field", [b'"text":7', b'"error":[]', b'"sample":"1"', b'"reasoning":{}'])
def test_response_when_an_essential_field_cannot_be_read_then_it_does_not_count(run, field):
    (run.path / "responses.jsonl").write_bytes(b'{"key":"%s","sample":0,%s}\n' % (KEY.encode(), field))
    assert list(run.responses()) == []
    assert (run.snapshot().answered, run.snapshot().damaged) == (0, 1)


def test_atomic_write_when_it_fails_then_the_old_content_stays(tmp_path, monkeypatch):
    file = tmp_path / "f"
    write_atomically(file, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(JournalError, match="No space left"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_mark_when_of_the_first_sample_then_its_line_says_so(run):
    journal(run, Response(key=KEY, sample=0, text="a"))
    run.save_marks("math", [Mark(verdict=Verdict.CORRECT, key=KEY)])
    assert json.loads(run.marks_file("math").read_text())["sample"] == 0
