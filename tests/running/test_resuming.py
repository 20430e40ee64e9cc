"""A run that is resumed: what is missing is asked, nothing else, and nothing that was kept is trusted blindly."""

import json

import pytest
from kept_runs import answers, answers_that_count, verdicts
from loopback import Loopback, Plan

from markscheme.runs.folder import Run


def test_resume_when_lines_are_torn_or_damaged_then_only_those_are_asked_again(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right), count=True) as server:
        markscheme("run", sums(20), *fast, "--base-url", server.url, "--out", folder)
        before = verdicts(folder)
        journal = (folder / "responses.jsonl").read_bytes().splitlines(keepends=True)
        journal[3] = b'{"key":"' + b"\xff" * 20 + b'"}\n'
        journal[7] = journal[7][:-30] + b"\n"
        journal[-1] = journal[-1][:25]
        (folder / "responses.jsonl").write_bytes(b"".join(journal))
        server.asked.clear()
        again = markscheme("resume", folder, "--json")
        assert sum(server.asked.values()) == 3
    assert again.returncode == 0
    assert "3 damaged lines" in again.stderr
    assert verdicts(folder) == before
    assert len(answers_that_count(folder)) == 20


def test_resume_when_a_damaged_answer_cannot_be_asked_again_then_its_old_mark_does_not_make_the_run_complete(
    markscheme, sums, right, fast, tmp_path
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(6), *fast, "--base-url", server.url, "--out", folder)
        journal = (folder / "responses.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "responses.jsonl").write_bytes(b"".join([*journal[:2], b'{"key":\n', *journal[3:]]))
        reported = markscheme("report", folder, "--format", "json")
        assert json.loads(reported.stdout)["runs"][0]["missing"] == 1
        server.plan.status = lambda _: (500, {"error": "no"})
        again = markscheme("resume", folder, "--json", "--max-retries", 0)
    report = json.loads(again.stdout)
    assert again.returncode == 3
    assert (report["missing"], report["responses"], report["verdicts"]["error"]) == (1, 5, 1)
    assert (report["status"], Run.open(folder).manifest.counts["error"]) == ("incomplete", 1)


def test_resume_when_an_answer_was_lost_and_came_anew_without_a_mark_then_the_old_mark_is_not_taken_for_it(
    markscheme, sums, fast, tmp_path
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=lambda _: "ANSWER: 7")) as server:  # right for the first problem only
        markscheme("run", sums(3), *fast, "--base-url", server.url, "--out", folder)
        journal = (folder / "responses.jsonl").read_bytes().splitlines(keepends=True)
        [first] = [
            line for line in journal if json.loads(line)["problem_id"] == Run.open(folder).questions()[0].problem.id
        ]
        (folder / "responses.jsonl").write_bytes(b"".join(line for line in journal if line != first))
        server.plan.status = lambda _: (500, {"error": "no"})
        markscheme("resume", folder, "--json", "--max-retries", 0)
        with (folder / "responses.jsonl").open("ab") as out:  # as if killed right after it was kept
            out.write(first.replace(b"ANSWER: 7", b"ANSWER: 8"))
        again = markscheme("resume", folder, "--json")
    assert json.loads(again.stdout)["verdicts"] == {"wrong": 3}


def test_resume_when_the_journal_holds_strangers_then_they_do_not_count_as_answers(
    markscheme, sums, right, fast, tmp_path
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right), count=True) as server:
        markscheme("run", sums(4), *fast, "--base-url", server.url, "--out", folder)
        journal = (folder / "responses.jsonl").read_bytes().splitlines(keepends=True)
        stranger = json.dumps({**json.loads(journal[0]), "key": "stranger"}).encode() + b"\n"
        late = json.dumps({**json.loads(journal[1]), "sample": 7}).encode() + b"\n"
        (folder / "responses.jsonl").write_bytes(b"".join([*journal[2:], stranger, late]))
        server.asked.clear()
        again = markscheme("resume", folder, "--json")
        assert sum(server.asked.values()) == 2
    assert json.loads(again.stdout)["missing"] == 0


def test_resume_when_the_model_refuses_an_option_then_it_is_not_kept(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(4), *fast, "--base-url", server.url, "--out", folder)
        (folder / "responses.jsonl").write_bytes(b"")
        before = (folder / "manifest.json").read_bytes()
        for wrong in (("--base-url", "nonsense"), ("--api-key-env", "sk-live"), ("--prices", "nowhere.toml")):
            refused = markscheme("resume", folder, *wrong)
            assert (refused.returncode, (folder / "manifest.json").read_bytes()) == (2, before), refused.stderr
        assert markscheme("resume", folder, "--json").returncode == 0


def test_resume_when_a_gold_answer_was_altered_then_refused(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(4), *fast, "--base-url", server.url, "--out", folder)
    problems = folder / "problems.jsonl"
    problems.write_bytes(problems.read_bytes().replace(b'"gold":"7"', b'"gold":"8"'))
    refused = markscheme("resume", folder)
    assert refused.returncode == 1
    assert "gold answer" in refused.stderr


def test_resume_when_the_run_is_complete_then_nothing_is_asked(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right), count=True) as server:
        first = markscheme("run", sums(10), *fast, "--base-url", server.url, "--out", folder)
        again = markscheme("resume", folder, "--json")
        assert sum(server.asked.values()) == 10
    assert json.loads(again.stdout)["accuracy"] == json.loads(first.stdout)["accuracy"]


def test_resume_when_some_had_failed_then_only_those_are_asked(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"

    def refuse(body):
        return (500, {"error": "no"}) if "What is 3 +" in body["messages"][-1]["content"] else None

    with Loopback(Plan(answer=right, status=refuse), count=True) as server:
        first = markscheme("run", sums(10), *fast, "--base-url", server.url, "--max-retries", 0, "--out", folder)
        assert first.returncode == 3
        assert json.loads(first.stdout)["missing"] == 1
        assert f"markscheme resume {folder}" in first.stderr
        server.plan.status = None
        server.asked.clear()
        again = markscheme("resume", folder, "--json")
        assert sum(server.asked.values()) == 1
    assert again.returncode == 0
    assert "error" not in json.loads(again.stdout)["verdicts"]


def test_resume_when_marks_were_lost_then_made_again_without_asking(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right), count=True) as server:
        markscheme("run", sums(10), *fast, "--base-url", server.url, "--out", folder)
        before = verdicts(folder)
        marks = folder / "marks" / "gsm8k-numeric.jsonl"
        marks.write_bytes(b"".join(marks.read_bytes().splitlines(keepends=True)[:4]))
        markscheme("resume", folder, "--json")
        assert sum(server.asked.values()) == 10
    assert verdicts(folder) == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-t", "0.7"), "temperature: the default in the run, 0.7 now"),
        (("--fewshot", "3"), "fewshot: the default in the run, 3 now"),
        (("-n", "4"), "at temperature 0, where further samples would be the same"),
        (("--extra-field", "x=1"), "extra_field: the default in the run, ('x=1',) now"),
    ],
)
def test_resume_when_sampling_or_prompt_change_then_refused_with_the_difference(
    markscheme, sums, right, fast, tmp_path, options, said
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(3), *fast, "--base-url", server.url, "--out", folder)
        again = markscheme("resume", folder, *options)
    assert again.returncode == 2
    assert said in again.stderr


def test_resume_when_the_server_moved_then_the_new_address_is_taken(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(6), *fast, "--base-url", server.url, "--limit", 6, "--out", folder)
    (folder / "responses.jsonl").write_bytes(b"")
    with Loopback(Plan(answer=right)) as server:
        again = markscheme("resume", folder, "--base-url", server.url, "--concurrency", 3, "--json")
        assert server.requests == 6
    assert again.returncode == 0


def test_resume_when_the_problems_were_edited_then_refused(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(3), *fast, "--base-url", server.url, "--out", folder)
    problems = folder / "problems.jsonl"
    problems.write_bytes(problems.read_bytes().replace(b"What is 1", b"What was 1"))
    again = markscheme("resume", folder)
    assert again.returncode == 1
    assert "is not what this run started with" in again.stderr


def test_resume_when_given_a_folder_of_runs_then_each_is_finished(markscheme, sums, right, fast, tmp_path):
    benchmark = sums(4)
    with Loopback(Plan(answer=right), count=True) as server:
        for name in ("a", "b"):
            markscheme("run", benchmark, *fast, "--base-url", server.url, "--out", tmp_path / "runs" / name)
            (tmp_path / "runs" / name / "responses.jsonl").write_bytes(b"")
        server.asked.clear()
        again = markscheme("resume", tmp_path / "runs", "--json")
        assert sum(server.asked.values()) == 8
    assert [report["missing"] for report in json.loads(again.stdout)] == [0, 0]


def test_resume_when_nothing_is_missing_then_no_model_and_no_key_is_needed(markscheme, sums, right, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right)) as server:
        markscheme("run", sums(4), *fast, "--base-url", server.url, "--out", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["config"]["base_url"] = []  # OpenAI itself, which wants a key
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert markscheme("resume", folder, "--json").returncode == 0


# Killed at the n-th file that is put in the place of another.
KILLED = """
import os, pathlib
left, replace = int(os.environ.get("KILLED_AT", "0")), pathlib.Path.replace

def killed(self, target):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), 9)
    return replace(self, target)

pathlib.Path.replace = killed
"""


@pytest.mark.parametrize(
    ("moment", "again"), [*((moment, ()) for moment in range(1, 6)), *((moment, ("--limit", 10)) for moment in (2, 4))]
)
def test_growth_when_killed_at_any_moment_then_resuming_asks_the_rest_once(
    process, markscheme, sums, right, fast, tmp_path, monkeypatch, moment, again
):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(KILLED)
    folder = tmp_path / "run"
    with Loopback(Plan(answer=right), count=True) as server:
        markscheme("run", sums(10), *fast, "--base-url", server.url, "--limit", 5, "--out", folder)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=":")
        monkeypatch.setenv("KILLED_AT", str(moment))
        process("resume", folder, "--limit", 10, "--json").communicate(timeout=200)
        monkeypatch.delenv("KILLED_AT")
        done = markscheme("resume", folder, "--json", *again)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["responses"] in ((5, 10) if not again else (10,))
        if not again and json.loads(done.stdout)["responses"] == 5:  # killed before anything was written down
            assert markscheme("resume", folder, "--json", "--limit", 10).returncode == 0
        assert len(answers(folder)) == 10
        assert set(server.asked.values()) == {1}
