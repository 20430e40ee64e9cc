"""Several turns: each is kept before the next begins, and none is asked twice."""

import json
import random
import shutil

import pytest
import talks
from kept_runs import answers, wait_until
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.runs.folder import Run


def doubtful(body):
    """Wrong at first, right when asked again."""
    return "ANSWER: 1" if len(body["messages"]) == 1 else "ANSWER: 7"


def test_run_when_the_user_asks_on_then_the_last_answer_counts_and_every_turn_is_kept(markscheme, sums, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=doubtful), keep=True) as server:
        done = markscheme(
            *("run", sums(1), *fast, "--base-url", server.url, "--then", "Are you sure?", "--out", folder, "--json")
        )
    report = json.loads(done.stdout)
    assert report["verdicts"] == {"correct": 1}
    doubted = report["doubted"]
    assert [doubted[name]["value"] for name in ("right_at_once", "mended", "spoiled")] == [0, 1, 0]
    assert [each["value"] for each in doubted["answers"].values()] == [0, 1]
    assert any("only the last 100.0 %" in note for note in report["warnings"])
    assert [mark.earlier for mark in Run.open(folder).marks("gsm8k-numeric")] == [("wrong",)]
    assert markscheme("mark", folder, "--protocol", "gsm8k-flexible").returncode == 0
    assert [mark.earlier for mark in Run.open(folder).marks("gsm8k-flexible")] == [("wrong",)]
    assert markscheme("verify", folder).returncode == 0
    [row] = ms.load(folder).rows()
    assert (row["earlier"], row["calls"]) == ("wrong", 0)
    [response] = Run.open(folder).responses()
    said = [(turn.role, turn.text) for turn in response.turns]
    assert said == [("assistant", "ANSWER: 1"), ("user", "Are you sure?"), ("assistant", "ANSWER: 7")]
    assert response.text == "ANSWER: 7"
    assert response.prompt_tokens == 400  # of both turns
    assert response.latency == pytest.approx(response.turns[0].latency + response.turns[2].latency)
    second = json.loads(server.seen[1][1])["messages"]
    assert second[1:] == [
        {"role": "assistant", "content": "ANSWER: 1"},
        {"role": "user", "content": "Are you sure?"},
    ]


def test_resume_when_killed_between_two_turns_then_no_turn_is_lost_and_none_asked_twice(
    process, markscheme, sums, fast, tmp_path
):
    folder = tmp_path / "run"

    class Slow(Plan):
        """Answers first turns, and lets every third of the others wait for ever."""

        def draw(self):
            return "stall" if len(server.seen) > 12 and len(server.seen) % 3 == 0 else None

    with Loopback(Slow(answer=doubtful, faults={"stall": 0.1}), count=True, keep=True) as server:
        asking = process(
            "run", sums(12), *fast, "--base-url", server.url, "--then", "Sure?", "--concurrency", 12, "--out", folder
        )
        turns = folder / "turns.jsonl"
        wait_until(lambda: turns.exists() and turns.read_bytes().count(b"\n") == 24 and len(server.seen) == 24)
        wait_until(lambda: len(answers(folder)) == sum(server.answered.values()) - 12)
        asking.kill()
        asking.wait()
        missing = 12 - len(answers(folder))
        assert missing > 0
        before, server.plan.faults = dict(server.answered), {}
        again = markscheme("resume", folder, "--json")
        assert again.returncode == 0
        assert sum(server.answered.values()) - sum(before.values()) == missing
    assert set(server.answered.values()) == {1}
    assert all(len(response.turns) == 3 for response in Run.open(folder).responses())


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_conversations_when_killed_again_and_again_then_no_turn_is_lost_and_none_asked_twice(
    process, sums, fast, tmp_path
):
    folder = tmp_path / "run"
    with Loopback(script := talks.Script()) as server:
        command = ("run", sums(8), *fast, "--base-url", server.url, "--tools", "python", "--then", talks.THEN)
        command += ("--max-turns", talks.MOST_TURNS, "--concurrency", 4, "--retry-delay", 0.01, "--out", folder)
        wrong, counts = talks.kill_again_and_again(lambda: process(*command), folder, script, 4, random.Random(1))
    assert wrong == []
    assert counts["broken streams"]
    assert counts["turns"] == 7 * 5 + talks.MOST_TURNS
    responses = list(Run.open(folder).responses())
    assert sum(response.cut_off_by_turns for response in responses) == 1
    assert {response.tool_errors for response in responses} == {2, 0}
    assert {response.cached_tokens for response in responses} == {60 * 5, 60 * talks.MOST_TURNS}


def test_run_when_it_is_stopped_before_any_conversation_ended_then_its_turns_are_kept(markscheme, sums, fast, tmp_path):
    def refuses_doubts(body):
        return (401, {"error": {"message": "no such key"}}) if len(body["messages"]) > 1 else None

    folder = tmp_path / "run"
    with Loopback(Plan(answer=doubtful, status=refuses_doubts), keep=True) as server:
        asked = ("run", sums(1), *fast, "--base-url", server.url, "--then", "Sure?", "--out", folder)
        assert markscheme(*asked).returncode == 1
        assert len(server.seen) == 2
        server.plan.status = None
        assert markscheme("resume", folder).returncode == 0
        assert len(server.seen) == 3
    [response] = Run.open(folder).responses()
    assert [turn.text for turn in response.turns] == ["ANSWER: 1", "Sure?", "ANSWER: 7"]


def test_resume_when_a_turn_is_torn_or_strange_then_the_conversation_goes_on_before_it(
    markscheme, sums, fast, tmp_path
):
    folder = tmp_path / "run"
    with Loopback(Plan(answer=doubtful), keep=True) as server:
        asked = ("run", sums(2), *fast, "--base-url", server.url, "--then", "Sure?", "--out", folder)
        markscheme(*asked)
        (folder / "responses.jsonl").write_text("")
        lines = [json.loads(line) for line in (folder / "turns.jsonl").read_text().splitlines()]
        first = [line for line in lines if line["key"] == lines[0]["key"]]
        kept = [first[0], {**first[1], "number": 5}, {**first[0], "sample": -1}, {"key": 3}]
        (folder / "turns.jsonl").write_text("\n".join(map(json.dumps, kept)) + '\n{"key": "')
        server.seen.clear()
        assert markscheme("resume", folder, "--json").returncode == 0
        assert len(server.seen) == 3  # the second turn of one problem, both of the other
    assert {len(response.turns) for response in Run.open(folder).responses()} == {3}


def test_benchmark_when_it_has_further_turns_and_tools_of_its_own_then_they_are_used(markscheme, fast, tmp_path):
    rows = [{"question": "What is 0 + 7?", "answer": "7", "hint": "count {on}"}]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "own.toml").write_text(
        'tools = ["python"]\n[data.test]\nfile = "sums.jsonl"\n[fields]\nstatement = "question"\ngold = "answer"\n'
        'metadata = ["hint"]\n'
        '[prompts.hinted]\nuser = "{statement}"\nthen = ["Hint: {hint}. What is {statement}", "Sure {really}?"]\n'
    )
    with Loopback(Plan(answer=lambda body: f"ANSWER: {len(body['messages'])}"), keep=True) as server:
        options = (*fast, "--base-url", server.url, "--unsafe-tools")
        done = markscheme("run", tmp_path / "own.toml", *options, "--out", tmp_path / "run")
        bodies = [json.loads(body) for _, body in server.seen]
        assert markscheme("run", tmp_path / "own.toml", *options, "--out", tmp_path / "run").returncode == 0
        assert len(server.seen) == 3
        without = markscheme("run", tmp_path / "own.toml", *options, "--tools", "none", "--out", tmp_path / "other")
        assert without.returncode == 0
        assert "tools" not in json.loads(server.seen[3][1])
    assert done.returncode == 0
    assert {body["tools"][0]["function"]["name"] for body in bodies} == {"python"}
    said = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "user"]
    assert said[1:] == ["Hint: count {on}. What is What is 0 + 7?", "Sure {really}?"]
    assert list(json.loads(done.stdout)["doubted"]["answers"]) == ["1", "2", "3"]
    assert "python" in Run.open(tmp_path / "run").manifest.tools


def test_export_when_further_turns_repeat_the_statement_then_it_is_not_called_redacted(
    markscheme, sums, fast, tmp_path
):
    with Loopback(Plan(answer=doubtful)) as server:
        asked = ("run", sums(1), *fast, "--base-url", server.url, "--out", tmp_path / "run")
        markscheme(*asked, "--then", "Read again: {statement}")
    done = markscheme("export", tmp_path / "run", "-o", tmp_path / "run.msz", "--redact")
    assert done.returncode != 0
    assert "repeats the statement" in done.stderr
    assert not (tmp_path / "run.msz").exists()


def test_further_turn_when_it_would_give_the_answer_away_then_refused(markscheme, sums, fast, tmp_path):
    done = markscheme(
        "run", sums(1), *fast, "--base-url", "http://127.0.0.1:9/v1", "--then", "It is {gold}, is it not?"
    )
    assert done.returncode == 2
    assert "give the answer away" in done.stderr


def test_run_when_the_model_uses_the_tags_of_nanochat_then_expressions_are_answered_in_the_text(
    markscheme, sums, fast, tmp_path
):
    def answer(body):
        prompt = body["prompt"]
        if "<|output_start|>7<|output_end|>" in prompt:
            return " so ANSWER: 7"
        if "1/0<|python_end|>" in prompt:
            return "<|python_start|>3+4"  # the server leaves out the text at which it stops
        return "Let me see <|python_start|>1/0<|python_end|>"

    with Loopback(Plan(answer=answer), keep=True) as server:
        tags = ("--tools", "python", "--tool-format", "nanochat", "--api", "completions", "--unsafe-tools")
        done = markscheme("run", sums(1), *fast, "--base-url", server.url, *tags, "--out", tmp_path / "run")
        last = json.loads(server.seen[-1][1])
    assert json.loads(done.stdout)["verdicts"] == {"correct": 1}
    assert last["stop"] == ["<|python_end|>"]
    assert last["prompt"].endswith(
        "<|python_start|>1/0<|python_end|><|python_start|>3+4<|python_end|><|output_start|>7<|output_end|>"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "solver"), "needs a model that takes several turns"),
        (("--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1", "--batch"), "--batch asks once"),
        (("--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1", "--samples-per-request", 2), "leave one of"),
        (("--model", "openai/m", "--base-url", "http://127.0.0.1:9/v1", "--then", " "), "--then has an empty message"),
    ],
)
def test_run_when_a_conversation_cannot_be_had_then_says_so_before_there_is_a_folder(
    markscheme, sums, tmp_path, options, said
):
    done = markscheme("run", sums(1), *options, "--then", "Sure?", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "run").exists()


def called(*codes):
    """An answer that calls the tool once for each code, and then says what the last one gave."""

    class Calling(Plan):
        def encode(self, text, model):
            given = json.loads(text)
            results = [message["content"] for message in given if message["role"] == "tool"]
            calls = [
                {
                    "id": f"c{n}",
                    "type": "function",
                    "function": {"name": "python", "arguments": json.dumps({"code": code})},
                }
                for n, code in enumerate(codes)
            ]
            message = {"content": None, "tool_calls": calls} if not results else {"content": f"ANSWER: {results[-1]}"}
            return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()

    return Calling(answer=lambda body: json.dumps(body["messages"]))


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_run_when_the_model_calls_python_then_its_results_are_handed_back_and_kept(markscheme, sums, fast, tmp_path):
    folder = tmp_path / "run"
    with Loopback(called("x = 3", "2 * x + 1"), keep=True) as server:
        done = markscheme(
            *("run", sums(1), *fast, "--base-url", server.url, "--tools", "python", "--out", folder, "--json")
        )
        first, second = (json.loads(body) for _, body in server.seen)
    report = json.loads(done.stdout)
    assert report["verdicts"] == {"correct": 1}
    tools = report["tools"]
    assert (tools["calls"], tools["used"]["value"], tools["failed"]["value"], tools["tokens"]) == (2, 1, 0, None)
    assert tools["where"] == {"python": "bubblewrap"}
    assert any("2.0 calls per response" in note for note in report["warnings"])
    assert "tool_calls" in markscheme("report", folder, "--format", "csv").stdout
    assert first["tools"][0]["function"]["name"] == "python"
    assert [(one["role"], one.get("tool_call_id"), one["content"]) for one in second["messages"][2:]] == [
        ("tool", "c0", ""),
        ("tool", "c1", "7"),
    ]
    [response] = Run.open(folder).responses()
    assert [turn.role for turn in response.turns] == ["assistant", "tool", "tool", "assistant"]


def test_replay_when_conversations_are_stored_then_all_of_them_or_turn_by_turn_with_tools_called_again(
    markscheme, sums, fast, tmp_path
):
    first, whole, anew = (tmp_path / name for name in ("first", "whole", "anew"))
    tools = ("--tools", "python", "--unsafe-tools")
    with Loopback(called("x = 3", "2 * x + 1")) as server:
        markscheme("run", sums(2), *fast, "--base-url", server.url, *tools, "--out", first)
    stored = list(Run.open(first).responses())
    replay = ("run", sums(2), *fast[:2], "--model", f"replay/{first / 'responses.jsonl'}", "--json")
    assert markscheme(*replay, "--out", whole).returncode == 0
    assert markscheme(*replay, *tools, "--out", anew).returncode == 0
    for folder in (whole, anew):
        again = list(Run.open(folder).responses())
        assert [[(turn.role, turn.text, turn.tool_calls) for turn in one.turns] for one in again] == [
            [(turn.role, turn.text, turn.tool_calls) for turn in one.turns] for one in stored
        ]
        assert [one.text for one in again] == [one.text for one in stored]
    assert (anew / "turns.jsonl").exists()
    assert not (whole / "turns.jsonl").exists()
    short = markscheme(*replay, "--then", "Sure?", "--then", "Really?", "--out", tmp_path / "more")
    assert "but more were requested" in short.stdout + short.stderr


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_run_when_code_is_a_block_of_the_text_then_it_is_answered_in_the_text(markscheme, sums, fast, tmp_path):
    def answer(body):
        return "ANSWER: 7" if "```output\n7\n```" in body["prompt"] else "Let me see.\n```python\n3 + 4\n```\n"

    with Loopback(Plan(answer=answer), keep=True) as server:
        fenced = ("--tools", "python", "--tool-format", "fenced", "--api", "completions")
        done = markscheme(
            *("run", sums(1), *fast, "--base-url", server.url, *fenced, "--out", tmp_path / "run", "--json")
        )
        assert json.loads(server.seen[0][1])["stop"] == ["```output"]
    assert json.loads(done.stdout)["verdicts"] == {"correct": 1}


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_run_when_the_model_calls_without_end_then_max_turns_ends_it(markscheme, sums, fast, tmp_path):
    plan = called("1")
    calls = [{"id": "c", "function": {"name": "no such tool", "arguments": "{"}}]
    reply = {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    plan.encode = lambda text, model: json.dumps(reply).encode()
    with Loopback(plan, keep=True) as server:
        tools = ("--tools", "python", "--max-turns", 3)
        done = markscheme("run", sums(1), *fast, "--base-url", server.url, *tools, "--out", tmp_path / "run", "--json")
        assert len(server.seen) == 3
    assert json.loads(done.stdout)["verdicts"] == {"truncated": 1}
    [response] = Run.open(tmp_path / "run").responses()
    assert "there is no tool" in response.turns[1].text
