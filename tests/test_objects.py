"""Objects in place of names: protocols and models that are Python functions."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.errors import UsageError
from markscheme.marking.protocol import Assessment, Protocol, get_protocol
from markscheme.objects import is_object_spec, load_object
from markscheme.types import Verdict

RULES = '''
def ends(response, gold):
    """Right if the text ends with the gold."""
    return response.endswith(str(gold))

async def parrot(messages):
    assert messages[-1]["role"] == "user"
    return "18"

def broken(text):
    raise ValueError("no answer today")

number = 3
'''


@pytest.fixture
def rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "stops.py").write_text("import sys; sys.exit(3)")
    (tmp_path / "empty.py").write_text("number = 3")
    return tmp_path / "rules.py"


def ends(response, gold):
    return response.endswith(str(gold))


@pytest.mark.parametrize(
    ("returned", "verdict"),
    [
        (True, Verdict.CORRECT),
        (False, Verdict.WRONG),
        (1.0, Verdict.CORRECT),
        (0.4, Verdict.WRONG),
        (None, Verdict.UNMARKABLE),
        (Verdict.MALFORMED, Verdict.MALFORMED),
        (ms.Mark(verdict=Verdict.NO_ANSWER, why="silent"), Verdict.NO_ANSWER),
        (Assessment(Verdict.TRUNCATED), Verdict.TRUNCATED),
        ("yes", Verdict.UNMARKABLE),
    ],
)
def test_function_as_protocol_gives_the_verdict_it_returns(returned, verdict):
    def given(response, gold):
        return returned

    assert ms.mark("18", gold="18", protocol=given).verdict is verdict


def test_object_with_name_version_and_judge_is_a_protocol():
    class Rule:
        name, version = "mine", "3"

        def judge(self, response, gold):
            return response == gold

    mark = ms.mark("18", gold="18", protocol=Rule())
    assert mark.correct
    assert mark.protocol == "mine@3"


def test_protocol_object_is_used_as_it_is():
    rule = Protocol("always", "1", "always right", "text", lambda sections, gold: Assessment(Verdict.CORRECT))
    assert ms.mark("", gold="1", protocol=rule).protocol == "always@1"
    assert get_protocol(get_protocol("math")) is get_protocol("math")


def test_function_that_is_changed_gets_another_version():
    def rule(response, gold):
        return True

    first = ms.mark("", gold="1", protocol=rule).protocol

    def rule(response, gold):
        return False

    second = ms.mark("", gold="1", protocol=rule)
    assert first != second.protocol
    assert not second.correct


def test_countdown_gold_reaches_a_function():
    seen = []
    ms.mark("x", gold={"nums": [1, 2], "target": 3}, protocol=lambda_named(seen))
    assert seen[0].target == 3


def lambda_named(seen):
    def keep(response, gold):
        seen.append(gold)
        return False

    return keep


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda response, gold: True, "needs a name"),
        (type("Math", (), {"name": "math", "judge": lambda self, r, g: True})(), "already"),
        (3, "is a int"),
    ],
)
def test_what_cannot_be_a_protocol_is_refused_with_a_reason(given, says):
    with pytest.raises(UsageError, match=says):
        ms.mark("x", gold="1", protocol=given)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("rules.py:nothing", "defines no 'nothing'"),
        ("other.py:ends", "cannot be read"),
        ("rules.py:number", "is a int"),
        ("python:gone", "give it again"),
        ("stops.py:ends", "stops.py cannot be loaded: SystemExit: 3"),
        ("empty.py:ends", "it has no functions"),
    ],
)
def test_wrong_spec_says_what_is_wrong(rules, spec, says):
    with pytest.raises(UsageError, match=says):
        get_protocol(spec)


def test_model_names_with_colons_are_not_object_specs():
    assert not is_object_spec("openai/deepseek/deepseek-r1:free")
    assert not is_object_spec("http/http://localhost:8000/generate")
    assert is_object_spec("folder/rules.py:ends")


def test_changed_file_is_loaded_again(rules):
    first = load_object("rules.py:ends")
    rules.write_text(RULES + "\nnumber = 4\n")
    assert load_object("rules.py:number").value == 4
    assert load_object("rules.py:ends").sha256 != first.sha256


def test_run_with_a_file_s_objects_is_resumed_and_records_their_source(rules, tmp_path):
    run = ms.run("gsm8k-sample", model="rules.py:parrot", protocol="rules.py:ends", out="run", limit=3, progress=False)
    assert set(run.manifest.objects) == {"model", "protocol"}
    assert [answer.response.text for answer in run] == ["18"] * 3
    assert ms.load("run").resume(samples=2, progress=False).manifest.status == "complete"
    rules.write_text(RULES + "# changed\n")
    with pytest.raises(UsageError, match="has changed since"):
        ms.load("run").resume(samples=3, progress=False)
    rules.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        ms.load("run").resume(samples=3, progress=False)


def test_code_in_a_run_folder_when_only_its_manifest_names_it_then_it_is_not_run(rules, tmp_path):
    ms.run("gsm8k-sample", model="rules.py:parrot", out="run", limit=1, progress=False)
    for file, text in (("rules.py", "open('ran', 'w')\n" + RULES), ("manifest.json", None)):
        place = tmp_path / "run" / file
        place.write_text(text or place.read_text().replace("rules.py:parrot", "run/rules.py:parrot"))
    with pytest.raises(UsageError, match="names code in its own folder"):
        ms.load("run").resume(samples=2, progress=False)
    assert not (tmp_path / "ran").exists()


def test_run_with_functions_of_this_program_marks_and_asks_with_them(tmp_path):
    async def model(text):
        await asyncio.sleep(0)
        assert isinstance(text, str)
        return "I say 18"

    def rule(response, gold):
        return gold == "x" or response.endswith("18")

    run = ms.run("gsm8k-sample", model=model, protocol=rule, out=tmp_path / "run", limit=3, progress=False)
    assert run.manifest.counts == {"correct": 3}
    assert run.manifest.config.model == "python:model"
    assert run.mark(ends).marks("ends") is not None


def test_function_that_raises_costs_its_response_only(rules):
    run = ms.run("gsm8k-sample", model="rules.py:broken", out="run", limit=2, progress=False)
    assert run.manifest.counts == {"error": 2}
    assert "no answer today" in next(iter(run)).response.error


def test_marks_of_a_file_s_protocol_are_found_by_its_spec(rules, tmp_path):
    run = ms.run("gsm8k-sample", model="rules.py:parrot", protocol="rules.py:ends", limit=1, out=tmp_path / "run")
    assert ms.report(run, protocol="rules.py:ends").figures == ms.report(run).figures


def test_builtin_without_a_signature_is_a_model(tmp_path):
    run = ms.run("countdown-sample", model=max, limit=2, out=tmp_path / "run", progress=False)
    prompts = {max("\n\n".join(part.content for part in each.prompt.messages)) for each in run.questions()}
    assert {answer.response.text for answer in run} == prompts


def test_functions_of_a_program_that_ended_must_be_given_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import markscheme as ms\n"
        "def lost(text): return '18'\n"
        "def rule(response, gold): return True\n"
        "ms.run('gsm8k-sample', model=lost, protocol=rule, out='run', limit=2, progress=False)\n"
    )
    subprocess.run([sys.executable, script], check=True, cwd=tmp_path)
    with pytest.raises(UsageError, match=r"ms.resume\(run, model=lost\)"):
        ms.load(tmp_path / "run").resume(samples=2, progress=False)


def test_source_of_a_run_s_protocol_is_asked_for_and_never_run_unasked(rules, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("markscheme.marking.protocol._given", {})
    rules.write_text(RULES.replace("def ends", "from pathlib import Path\nPath('loaded').touch()\ndef ends"))
    ms.run("gsm8k-sample", model="rules.py:parrot", protocol="rules.py:ends", out="run", limit=3, progress=False)
    monkeypatch.setattr("markscheme.marking.protocol._given", {})  # another program
    (tmp_path / "loaded").unlink()
    assert main(["verify", "run", "--json"]) == 0
    assert "--protocol rules.py:ends" in capsys.readouterr().out
    assert main(["mark", "run"]) == 2
    assert "if you trust that file, add --protocol rules.py:ends" in capsys.readouterr().err
    assert not (tmp_path / "loaded").exists()
    (marks,) = [each for each in ms.verify("run", protocol="rules.py:ends")[0].checks if "marks" in each.what]
    assert marks.holds
    assert main(["mark", "run"]) == 0
