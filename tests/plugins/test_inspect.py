"""Inspect, the real one: our tasks and scorers in it, the door at gsm8k/task.py, its logs as runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.countdown.solver import solve
from markscheme.errors import DataError, JournalError, UsageError
from markscheme.types import CountdownGold

pytestmark = pytest.mark.needs("inspect_ai", "openai")

BIN = Path(sys.executable).parent
COMPAT = Path(__file__).parents[2] / "compat"
SAMPLES = ("countdown-sample", "gsm8k-sample", "math-sample", "aime-sample")


def right_answers():
    """A right response for every packaged problem, by statement."""
    found = {}
    for name in SAMPLES:
        for problem in ms.benchmark(name).problems:
            gold = problem.gold
            if isinstance(gold, CountdownGold):
                found[problem.statement] = f"<answer>{solve(list(gold.nums), gold.target)}</answer>"
            else:
                form = "ANSWER: {}" if name == "gsm8k-sample" else "So \\boxed{{{}}}."
                found[problem.statement] = form.format(gold)
    return found


class Model(Plan):
    """Right on every problem whose statement has an even length, and on every second try of the others."""

    def __init__(self):
        self.right = right_answers()
        self.tries = {}
        super().__init__(answer=self.say)

    def say(self, body):
        asked = body["messages"][-1]["content"]
        statement = max((one for one in self.right if one in asked), key=len)
        self.tries[statement] = self.tries.get(statement, 0) + 1
        return self.right[statement] if len(statement) % 2 == 0 or self.tries[statement] == 2 else "Let me think."


def inspect(*words, server, scratch, cwd=COMPAT, code=0):
    environment = {**os.environ, "LOOP_BASE_URL": server.url, "LOOP_API_KEY": "none", "NO_COLOR": "1", "COLUMNS": "200"}
    environment.pop("MARKSCHEME_DATA", None)
    environment["XDG_CACHE_HOME"] = str(scratch / "cache")
    environment["HF_HUB_OFFLINE"] = "1"
    command = [str(word) for word in (BIN / "inspect", *words)]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == code, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def logs(folder):
    from inspect_ai.log import read_eval_log

    found = {}
    for file in sorted(folder.glob("*.eval")):
        log = read_eval_log(str(file))
        found[log.eval.task.rpartition("/")[2]] = (file, log)
    return found


def test_tasks_when_evaluated_through_the_entry_point_then_logs_equal_our_own_runs(tmp_path, rerun):
    from markscheme.plugins.logs import import_log

    names = {
        "gsm8k": "gsm8k-sample",
        "countdown": "countdown-sample",
        "math500": "math-sample",
        "aime_2024": "aime-sample",
    }
    with Loopback(Model()) as server:
        inspect(
            *("eval", *(f"markscheme/{name}" for name in names), "--model", "openai-api/loop/m", "-T", "sample=true"),
            *("--limit", "8", "--epochs", "2", "--display", "plain", "--log-dir", tmp_path / "logs"),
            server=server,
            scratch=tmp_path,
        )
    found = logs(tmp_path / "logs")
    assert set(found) == set(names)
    for task, benchmark in names.items():
        file, log = found[task]
        assert log.status == "success"
        run = import_log(file, tmp_path / task)
        assert (run.manifest.benchmark, run.manifest.samples, run.manifest.problems) == (benchmark, 2, 8)
        assert run.manifest.status == "complete"
        ours = rerun(run, benchmark, limit=8)
        scorer = next(iter(log.samples[0].scores))
        for sample in log.samples:
            mark, score = ours[sample.id, sample.epoch - 1], sample.scores[scorer]
            assert (score.value == "C") is mark.correct
            assert score.explanation == f"{mark.verdict}: {mark.why}"
            assert score.answer == mark.answer
        metrics = log.results.scores[0].metrics
        summary = json.loads((run.path / "report.json").read_text())
        assert metrics["accuracy"].value == pytest.approx(summary["accuracy"]["value"])
        assert 0.5 <= metrics["accuracy"].value < 1
        assert metrics["stderr"].value > 0
        # The prompts are those of our own run, word for word.
        again = ms.run(
            benchmark, model=f"replay/{tmp_path / f'stored-{benchmark}.jsonl'}", limit=8, out=tmp_path / f"p-{task}"
        )
        assert run.manifest.prompt_sha256 == again.manifest.prompt_sha256


def test_door_when_typed_as_documented_then_the_published_words_and_draws(tmp_path, monkeypatch):
    from datasets import Dataset
    from inspect_ai import eval

    from markscheme.plugins.inspect_gsm8k import WORDING

    bench = ms.benchmark("gsm8k-sample")
    pool = Dataset.from_list(list(bench.pool_rows()))
    asked = [problem.statement for problem in bench.problems[:2]]
    options = {
        (10, 123): {"fewshot": 10, "fewshot_seed": 123},
        (0, 42): {"fewshot": False},
        (3, None): {"fewshot": 3, "shuffle_fewshot": False},
    }
    with Loopback(Model(), keep=True) as server:
        monkeypatch.setenv("LOOP_BASE_URL", server.url)
        monkeypatch.setenv("LOOP_API_KEY", "none")
        monkeypatch.chdir(COMPAT)
        for number, ((count, seed), given) in enumerate(options.items()):
            server.seen.clear()
            common = {"limit": 2, "display": "none", "log_dir": str(tmp_path / "logs")}
            if number == 0:  # typed once; the other settings without another interpreter, six seconds each
                words = [word for name, value in given.items() for word in ("-T", f"{name}={value}")]
                inspect(
                    *("eval", "gsm8k/task.py", *words, "-T", "sample=true", "--model", "openai-api/loop/m"),
                    *(word for name, value in common.items() for word in (f"--{name.replace('_', '-')}", value)),
                    server=server,
                    scratch=tmp_path,
                )
            else:
                eval("gsm8k/task.py", model="openai-api/loop/m", task_args={**given, "sample": True}, **common)
            sent = sorted([one["content"] for one in json.loads(body)["messages"]] for _, body in server.seen)
            # The published task shuffles with the `datasets` package; its draw is the expectation here.
            drawn = (pool.shuffle(seed=seed) if seed is not None else pool).select(range(count)).to_list()
            shots = []
            for row in drawn:
                reasoning, target = row["answer"].rsplit("####", 1)
                shots.append(f"{row['question']}\n\nReasoning:\n{reasoning.strip()}\n\nANSWER: {target.strip()}")
            system = ["\n\n".join(shots)] if shots else []
            assert sent == sorted([*system, WORDING.replace("{prompt}", question)] for question in asked)


def claude_events(body):
    """A streamed answer of Anthropic's Messages API, as its client asks for it."""
    text = Model().say({"messages": body["messages"]})
    message = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    events = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 9, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-4.1", pytest.param("anthropic/claude-sonnet-4-0", marks=pytest.mark.needs("anthropic"))],
)
def test_door_when_a_provider_is_named_as_in_its_document_then_asked_through_its_own_client(
    model, tmp_path, monkeypatch
):
    plan = Model()
    plan.events = claude_events if model.startswith("anthropic") else None
    with Loopback(plan, keep=True) as server:
        for name, url in (("OPENAI", server.url), ("ANTHROPIC", server.url.removesuffix("/v1"))):
            monkeypatch.setenv(f"{name}_BASE_URL", url)
            monkeypatch.setenv(f"{name}_API_KEY", "none")
        words = ("-T", "sample=true", "--limit", "4", "--display", "none", "--log-dir", tmp_path / "logs")
        inspect("eval", "gsm8k/task.py", "--model", model, *words, server=server, scratch=tmp_path)
        assert len(server.seen) == 4
    ((_, log),) = logs(tmp_path / "logs").values()
    right = {sample.input: sample.scores["match"].value == "C" for sample in log.samples}
    statements = [problem.statement for problem in ms.benchmark("gsm8k-sample").problems[:4]]
    assert right == {statement: len(statement) % 2 == 0 for statement in statements}


def test_door_when_a_response_gives_no_answer_then_incorrect_unless_the_setting_says_otherwise(tmp_path):
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from markscheme.plugins.inspect_gsm8k import published_gsm8k

    def values(text="Let me think.", **options):
        usual = {"fewshot": 0, "fewshot_seed": 42, "shuffle_fewshot": True, "prompt": None, "data_dir": None}
        task = published_gsm8k(**usual, **{"protocol": None, "unanswered": "I", "sample": True, **options})
        said = ModelOutput.from_content("m", text)
        said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it fetches a tokenizer to count
        model = get_model("mockllm/model", custom_outputs=lambda *_: said)
        (log,) = eval(task, model=model, limit=1, display="none", log_dir=str(tmp_path))
        (sample,) = log.samples
        assert sample.metadata["reasoning"]
        assert isinstance(sample.input, str) == (options.get("prompt") is None)
        decides, other = sample.scores.items()
        differing = log.results.scores[1].metrics["differing"].value
        return {decides[0]: decides[1].value, other[0]: other[1].value, "differing": differing}

    assert values() == {"match": "I", "beside_math": "I", "differing": 0}
    assert values(unanswered="N", protocol="gsm8k-numeric")["gsm8k_numeric"] == "N"
    box = rf"So \boxed{{{ms.benchmark('gsm8k-sample').problems[0].gold}}}"
    assert values(box) == {"match": "I", "beside_math": "C", "differing": 1}
    assert values(box, protocol="math") == {"math": "C", "beside_match": "I", "differing": 1}
    for wrong in ({"unanswered": "X"}, {"protocol": "nope"}):
        with pytest.raises(UsageError, match=next(iter(wrong.values()))):
            values(**wrong)


def test_log_when_samples_failed_or_were_cut_off_then_so_in_the_run(tmp_path):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match

    from markscheme.plugins.logs import import_log

    def say(messages, *_):
        text = messages[-1].text
        if "fail" in text:
            raise RuntimeError("the server is on fire")
        output = ModelOutput.from_content("mock", "ANSWER: 4", "max_tokens" if "cut" in text else "stop")
        output.usage = ModelUsage(input_tokens=5, output_tokens=3, total_tokens=8)
        if "cut" in text:
            output.choices[0].message.content = output.completion = "First I add"
        return output

    task = Task(
        name="sums",
        dataset=[
            Sample(id=7, input="2+2?", target="4"),
            Sample(id="b", input="cut 2+3?", target="5"),
            Sample(id="c", input="fail", target="6"),
        ],
        scorer=match(numeric=True),
    )
    (log,) = eval(
        task, model=get_model("mockllm/model", custom_outputs=say), fail_on_error=False, display="none",
        log_dir=str(tmp_path / "logs"), temperature=0.5, max_tokens=9,
    )  # fmt: skip
    run = import_log(Path(log.location.removeprefix("file://")), tmp_path / "run", protocol="gsm8k-numeric")
    verdicts = {mark.key: str(mark.verdict) for mark in run.marks("gsm8k-numeric")}
    by_id = {question.problem.id: verdicts[question.problem.key] for question in run.questions()}
    assert by_id == {"7": "correct", "b": "truncated", "c": "error"}
    assert run.manifest.status == "incomplete"
    assert run.manifest.sampling == {"temperature": 0.5, "max_tokens": 9}
    (failed,) = [one for one in run.responses() if one.error]
    assert "on fire" in failed.error
    assert next(run.responses()).completion_tokens == 3
    with pytest.raises(JournalError, match="exists already"):
        import_log(Path(log.location.removeprefix("file://")), tmp_path / "run")


def test_log_when_the_model_had_tools_then_every_turn_is_kept(tmp_path):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import match
    from inspect_ai.solver import solver
    from inspect_ai.tool import ToolCall, ToolCallError

    from markscheme.plugins.logs import import_log

    @solver
    def talking():
        async def solve(state, generate):
            def call(number, x, text=""):
                made = ToolCall(id=f"c{number}", function="add", arguments={"x": x, "y": 2})
                return ChatMessageAssistant(content=text, tool_calls=[made], source="generate")

            failed = ToolCallError("unknown", "only from 0 up")
            state.messages += [call(1, -1), ChatMessageTool(content="", tool_call_id="c1", error=failed)]
            state.messages += [call(2, 2, "Once more."), ChatMessageTool(content="4", tool_call_id="c2")]
            state.output = ModelOutput.from_content("mock", "ANSWER: 4")
            state.output.message.source = "generate"
            state.messages.append(state.output.message)
            return state

        return solve

    shown = [
        ChatMessageUser(content="1+1?"),
        ChatMessageAssistant(content="ANSWER: 2"),
        ChatMessageUser(content="2+2?"),
    ]
    dataset, scorer = [Sample(id=1, input=shown, target="4")], match(numeric=True)
    task = Task(name="sums", dataset=dataset, solver=talking(), scorer=scorer)
    (log,) = eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path / "logs"))
    run = import_log(Path(log.location.removeprefix("file://")), tmp_path / "run", protocol="gsm8k-numeric")
    [response], [question] = run.responses(), run.questions()
    assert response.error is None
    assert [message.content for message in question.prompt.messages] == ["1+1?", "ANSWER: 2", "2+2?"]
    assert [turn.role for turn in response.turns] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert [call.arguments for turn in response.turns for call in turn.tool_calls] == [
        '{"x":-1,"y":2}',
        '{"x":2,"y":2}',
    ]
    assert [(turn.text, turn.failed) for turn in response.turns if turn.role == "tool"] == [
        ("only from 0 up", True),
        ("4", False),
    ]
    assert (response.calls, response.tool_errors, response.text) == (2, 1, "ANSWER: 4")
    assert [str(mark.verdict) for mark in run.marks("gsm8k-numeric")] == ["correct"]


def test_scorers_when_a_foreign_log_is_scored_again_then_by_the_protocol_named(tmp_path):
    from inspect_ai import Task, eval, score
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import match

    from markscheme.marking import protocol_names
    from markscheme.plugins.inspect_tasks import SCORERS

    assert set(SCORERS) == set(protocol_names())
    output = ModelOutput.from_content("mock", "#### 17 ... #### 18")
    output.usage = ModelUsage(input_tokens=5, output_tokens=3, total_tokens=8)
    task = Task(dataset=[Sample(input="?", target="18"), Sample(input="??", target="17")], scorer=match(numeric=True))
    (log,) = eval(
        task, model=get_model("mockllm/model", custom_outputs=lambda *_: output), display="none",
        log_dir=str(tmp_path), epochs=2,
    )  # fmt: skip
    again = score(log, SCORERS["gsm8k-strict"](), action="overwrite", display="none")
    scores = sorted((sample.target, sample.scores["gsm8k_strict"].value) for sample in again.samples)
    assert scores == [("17", "I"), ("17", "I"), ("18", "C"), ("18", "C")]
    assert again.results.scores[0].metrics["accuracy"].value == 0.5
    # Two problems, one right: with four independent responses the standard error would come out smaller.
    assert again.results.scores[0].metrics["stderr"].value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "nope"}, "there is no protocol 'nope'"),
        ({"fewshot": -1}, "-T fewshot=-1"),
        ({"fewshot": True}, "-T fewshot=True"),
        ({"fewshot": "many"}, "-T fewshot=many"),
    ],
)
def test_task_when_an_option_is_wrong_then_one_sentence(options, words):
    from markscheme.plugins.inspect_tasks import gsm8k

    with pytest.raises(UsageError, match=words):
        gsm8k(sample=True, **options)


@pytest.mark.parametrize(
    ("words", "says"),
    [(("-T", "fewshot=-1"), "-T fewshot=-1: the number"), ((), "was not fetched because HF_HUB_OFFLINE")],
)
def test_door_when_a_setting_is_wrong_or_the_data_is_missing_then_no_traceback(tmp_path, words, says):
    with Loopback(Model()) as server:
        task = ("eval", "gsm8k/task.py", "--model", "mockllm/model", "--log-dir", tmp_path / "logs", *words)
        said = inspect(*task, server=server, scratch=tmp_path, code=1)
    assert f"markscheme: {says}" in said.stderr.replace("main/test-00000-of-00001.parquet of openai/gsm8k ", "")
    assert "Traceback" not in said.stdout + said.stderr


def test_import_when_the_file_is_no_log_then_one_sentence(tmp_path):
    from markscheme.plugins.logs import import_log

    log = tmp_path / "x.eval"
    log.write_bytes(b"not a zip")
    with pytest.raises(DataError, match="no log that Inspect can read"):
        import_log(log, tmp_path / "run")
