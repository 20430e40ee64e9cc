"""`evaluate.py` against servers of its three kinds, typed as its documentation has it."""

import json
import math
from pathlib import Path

import pytest
from loopback import Loopback, Plan

import markscheme as ms
from markscheme.plugins.doors.evaluate import _config, _parser, main
from markscheme.plugins.doors.evaluate_records import normalize_answer
from markscheme.reporting.estimates import Estimate
from markscheme.reporting.summary import Summary
from markscheme.reporting.table import macro_average

COMPAT = Path(__file__).parents[2] / "compat"


class Contract(Plan):
    """The plain contract: an `answer` for a `dataset`, `prompt` and `sample_id`."""

    field = "answer"

    def encode(self, text, model):
        return json.dumps({self.field: text}).encode()


class Native(Contract):
    """SGLang's own `/generate`."""

    field = "text"


ROWS = {
    "math500": [("half?", r"\frac{1}{2}"), ("roots?", r"x \in [-4,7]"), ("sum?", 7)],
    "aime-24": [("first?", 73), ("second?", "204")],
}
# Of each problem all samples are right, or only sample 1, or none.
RIGHT = {"half?": r"so \boxed{\frac{1}{2}}", "roots?": r"\boxed{ x\in\left[-4, 7\right] }", "first?": "$73$"}
SECOND = {"sum?": r"First \boxed{6}, no, \boxed{7}"}


def answer(body):
    prompt = body["prompt"]
    if prompt in SECOND and body["sample_id"] == 1:
        return SECOND[prompt]
    return RIGHT.get(prompt, r"\boxed{0}")


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "datasets"
    folder.mkdir()
    for name, rows in ROWS.items():
        lines = [
            json.dumps({"problem": f"commentary on {question}", "question": question, "answer": gold})
            for question, gold in rows
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def figures(output):
    """`{"math500": {"accuracy": 0.7, …}, "macro": {…}}` from what was printed."""
    found, section = {}, None
    for line in output.splitlines():
        if line.startswith("Dataset="):
            section = found.setdefault(line.removeprefix("Dataset="), {})
        elif line.startswith("==="):
            section = found.setdefault("macro", {})
        elif section is not None and line.strip().startswith(("accuracy:", "pass@")):
            name, _, rest = line.strip().partition(": ")
            section[name] = float(rest.split()[0])
    return found


def test_evaluate_when_typed_as_documented_then_placeholders_are_asked_and_macro_printed(door, tmp_path):
    with Loopback(Contract(answer=lambda body: r"\boxed{6}"), keep=True) as server:
        url = server.url.removesuffix("/v1") + "/generate"
        done = door(
            *("python3", "evaluate.py", "--server-url", url, "--num-samples", "5", "--pass-k", "1", "3", "5"),
            *("--extra-field", "temperature=0.2", "--output-dir", tmp_path / "out"),
        )
        sent = [json.loads(body) for _, body in server.seen]
    assert len(sent) == 3 * 5 * 5
    assert sent[0].keys() == {"dataset", "prompt", "sample_id", "temperature"}
    assert sent[0]["temperature"] == 0.2
    assert {body["dataset"] for body in sent} == {"math500", "aime-24", "aime-25"}
    assert {body["sample_id"] for body in sent} == {0, 1, 2, 3, 4}
    found = figures(done.stdout)
    assert list(found) == ["math500", "aime-24", "aime-25", "macro"]
    assert found["math500"] == {"accuracy": 0.2, "pass@1": 0.2, "pass@3": 0.2, "pass@5": 0.2}
    assert found["macro"]["pass@5"] == pytest.approx(
        sum(found[name]["pass@5"] for name in list(found)[:3]) / 3, abs=1e-4
    )


def test_evaluate_when_compared_with_a_run_on_the_same_responses_then_equal_and_resumed_for_free(door, data, tmp_path):
    out = tmp_path / "out"
    with Loopback(Contract(answer=answer), keep=True) as server:
        command = (
            *("python3", "evaluate.py", "--server-url", server.url, "--datasets", "math500", "aime-24"),
            *(
                "--data-dir",
                data,
                "--num-samples",
                "3",
                "--pass-k",
                "3",
                "1",
                "--concurrency",
                "4",
                "--output-dir",
                out,
            ),
        )
        printed = door(*command).stdout
        first = figures(printed)
        assert len(server.seen) == 15
    # By hand: two problems always right and one on one sample of three.
    assert first["math500"] == {
        "accuracy": pytest.approx(7 / 9, abs=1e-4),
        "pass@1": pytest.approx(7 / 9, abs=1e-4),
        "pass@3": 1.0,
    }
    assert first["aime-24"] == {"accuracy": 0.5, "pass@1": 0.5, "pass@3": 0.5}
    assert first["macro"]["pass@3"] == 0.75
    assert "; of the first samples alone 0.5833" in printed.partition("===\n")[2].splitlines()[0]  # (2/3 + 1/2) / 2

    (folder,) = out.glob("math500-*")
    records = json.loads((folder / "records.json").read_text())
    assert [one["top1_correct"] for one in records] == [True, True, False]
    assert records[2]["pass_hits"] == {"1": 0, "3": 1}
    assert (records[2]["gold_answer"], records[2]["problem_id"]) == (7, None)  # as the data has them
    assert (records[2]["normalized_outputs"], records[2]["normalized_gold"]) == (["0", "7", "0"], "7")
    stored = tmp_path / "stored.jsonl"
    lines = [
        {"question": one["input"], "sample": sample, "text": text}
        for one in records
        for sample, text in enumerate(one["outputs"])
    ]
    stored.write_text("".join(json.dumps(line) + "\n" for line in lines))
    # The original takes `question` although `problem` differs; a plain run wants to be told.
    (data / "plain.toml").write_text('data.test.file = "math500.jsonl"\nfields.statement = "question"\n')
    run = ms.run(
        str(data / "plain.toml"), model=f"replay/{stored}", samples=3, protocol="normalized", out=tmp_path / "run"
    )
    right = {(mark.key, mark.sample): mark.correct for mark in run.marks("normalized")}
    keys = {question.problem.statement: question.problem.key for question in run.questions()}
    assert {
        (keys[one["input"]], sample): answer == one["normalized_gold"]
        for one in records
        for sample, answer in enumerate(one["normalized_outputs"])
    } == right
    summary = json.loads((folder / "summary.json").read_text())
    plain = json.loads((tmp_path / "run" / "report.json").read_text())["accuracy"]
    assert summary["metrics"]["accuracy"] == plain["value"]
    assert summary["intervals"]["accuracy"] == [plain["low"], plain["high"]]
    assert summary["first_samples"] == {"accuracy": pytest.approx(2 / 3), "pass@1": pytest.approx(2 / 3), "pass@3": 1}
    assert json.loads((out / "summary.json").read_text())["macro"]["pass@3"]["value"] == 0.75


def test_evaluate_when_the_backend_is_openai_then_chat_messages_with_key_and_system_prompt(door, data, tmp_path):
    with Loopback(Plan(answer=lambda body: r"\boxed{73}"), keep=True) as server:
        door(
            *("python3", "evaluate.py", "--backend", "openai", "--server-url", server.url.removesuffix("/v1")),
            *("--model", "gpt-4o-mini", "--api-key", "sk-secret", "--system-prompt", "Be brief."),
            *("--datasets", "aime-24", "--data-dir", data, "--output-dir", tmp_path / "out"),
            *("--extra-field", "temperature=0.2", "max_tokens=512"),
        )
        head, body = server.seen[0]
    body = json.loads(body)
    assert head.lower().startswith(b"post /v1/chat/completions")
    assert b"sk-secret" in head
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "first?"}]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("gpt-4o-mini", 0.2, 512)
    (file,) = (tmp_path / "out").glob("aime-24-*/run/manifest.json")
    manifest = json.loads(file.read_text())
    assert manifest["sampling"] == {"temperature": 0.2, "max_tokens": 512}
    assert not any("sk-secret" in file.read_text() for file in (tmp_path / "out").rglob("*") if file.is_file())


def test_evaluate_when_the_backend_is_sglang_then_text_and_sampling_params(door, data):
    with Loopback(Native(answer=lambda body: "73"), keep=True) as server:
        door(
            *("python3", COMPAT / "evaluate.py", "--backend", "sglang", "--server-url", server.url.removesuffix("/v1")),
            *("--datasets", "aime-24", "--data-dir", data, "--output-dir", ""),
            *("--extra-field", "temperature=0", "--extra-field", "max_new_tokens=256"),
            cwd=data.parent,  # without an output folder the run goes below the folder one stands in
        )
        assert list(data.parent.glob("runs/*aime-24*/report.json"))
        assert not (data.parent / "outputs").exists()
        head, body = server.seen[0]
    body = json.loads(body)
    assert head.lower().startswith(b"post /generate")
    assert body["text"] == "first?"
    assert (body["sampling_params"]["temperature"], body["sampling_params"]["max_new_tokens"]) == (0, 256)


def test_evaluate_when_a_server_is_flaky_then_missing_answers_are_said_and_asked_again(door, data, tmp_path):
    broken = True

    def status(body):
        return (400, {"error": "no"}) if broken and body["prompt"] == "second?" else None

    with Loopback(Contract(answer=answer, status=status), keep=True) as server:
        command = (
            *("python3", "evaluate.py", "--server-url", server.url, "--datasets", "aime-24", "--data-dir", data),
            *("--max-retries", "0", "--output-dir", tmp_path / "out"),
        )
        said = door(*command, code=3)
        assert "missing: 1 of 2" in said.stdout
        assert "1 responses failed, 1 of them: " in said.stderr
        assert "the same command asks only for them" in said.stderr
        assert figures(said.stdout)["aime-24"]["accuracy"] == 1.0  # over what came back, and it says so
        broken = False
        again = door(*command)
    assert figures(again.stdout)["aime-24"]["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("flags", "words", "code"),
    [
        (["--num-samples", "2", "--pass-k", "1", "3"], "--pass-k 3 is more than --num-samples, which is 2", 2),
        (["--datasets", "gpqa"], "datasets/gpqa.jsonl", 1),
        (["--extra-field", "temperature"], "is not KEY=VALUE", 2),
        (["--backend", "openai"], "needs --model", 2),
        (["--backend", "tgi"], "invalid choice: 'tgi'", 2),
        (["--num-samples", "0"], "argument --num-samples: 0 is less than 1", 2),
        (["--pass-k", "0"], "argument --pass-k: 0 is less than 1", 2),
        (["--concurrency", "0"], "argument --concurrency: 0 is less than 1", 2),
        (["--concurrency", "x"], "argument --concurrency: 'x' is not a whole number", 2),
        (["--backend", "openai", "--model", "m", "--server-url", "https://api.openai.com"], "give --api-key", 2),
        (["--max-retries", "-1"], "--max-retries cannot be -1", 2),
        (["--request-timeout", "0"], "--request-timeout cannot be 0", 2),
        (
            ["--server-url", "nowhere"],
            "'nowhere' is not the address of a server; it should be like http://localhost:8000/generate",
            2,
        ),
        (["--data-dir", "nowhere"], "there is no nowhere/math500.jsonl", 1),
        ([], "--server-url", 2),
    ],
)
def test_evaluate_when_a_flag_is_wrong_then_one_sentence_and_nothing_is_asked(
    flags, words, code, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(COMPAT)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    given = [] if flags == [] else ["--server-url", "http://127.0.0.1:9/generate"]
    try:
        ended = main([*given, *flags, "--output-dir", str(tmp_path)])
    except SystemExit as stop:
        ended = stop.code
    assert ended == code
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_evaluate_when_the_server_goes_away_then_what_came_is_kept_and_the_sentence_says_where(data, tmp_path, capsys):
    def status(body):
        return (401, {"error": "no entry"}) if body["prompt"] == "second?" else None

    with Loopback(Contract(answer=answer, status=status)) as server:
        words = ["--server-url", server.url, "--datasets", "aime-24", "--data-dir", str(data)]
        assert main([*words, "--output-dir", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    (folder,) = (tmp_path / "out").glob("aime-24-*/run")
    assert f"markscheme resume {folder}" in said
    assert len((folder / "responses.jsonl").read_text().splitlines()) == 1


def test_evaluate_when_the_answer_is_not_where_it_is_looked_for_then_says_so_and_how_to_go_on(
    data, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with Loopback(Contract(answer=answer)) as server:
        words = ["--server-url", server.url, "--datasets", "aime-24", "--data-dir", str(data), "--max-retries", "0"]
        assert main([*words, "--response-field", "text"]) == 3
    said = capsys.readouterr()
    assert "accuracy: undefined" in said.out
    assert "2 responses failed, 2 of them: the answer does not have the documented form: {'answer': " in said.err
    assert list(tmp_path.glob("outputs/aime-24-*/records.json"))
    assert "the same command asks only for them" in said.err


def test_evaluate_when_a_failed_command_is_corrected_then_it_runs_and_the_failed_one_is_kept(data, tmp_path):
    out = tmp_path / "out"
    words = ["--datasets", "aime-24", "--data-dir", str(data), "--output-dir", str(out), "--max-retries", "0"]
    with Loopback(Contract(answer=answer), keep=True) as server:
        right = ["--server-url", server.url]
        assert main(["--server-url", "http://127.0.0.1:9/generate", *words]) != 0  # nobody is there
        assert main([*right, *words, "--response-field", "text"]) == 3
        assert len(server.seen) == 2
        assert main([*right, *words, "--num-samples", "2"]) == 0
        assert main([*right, *words]) == 0
        (data / "aime-24.jsonl").write_text('{"problem": "first?", "answer": 73}\n')
        assert main([*right, *words, "--response-field", "text"]) == 3
    assert len(list(out.glob("aime-24-*/run/manifest.json"))) == 5


def test_evaluate_when_nothing_is_at_the_address_then_the_hint_is_of_the_contract(data, tmp_path, capsys):
    words = ["--datasets", "aime-24", "--data-dir", str(data), "--output-dir", str(tmp_path / "out")]
    with Loopback(Contract(answer=answer, status=lambda body: (404, {"error": "no such page"}))) as server:
        assert main(["--server-url", server.url.removesuffix("/v1"), *words, "--max-retries", "0"]) != 0
    assert "perhaps the address should end in /generate" in capsys.readouterr().err


def test_macro_when_intervals_are_lopsided_then_each_side_adds_up_by_itself():
    one = Estimate(0.0, 0.0, 0.25, problems=10)
    two = Estimate(0.5, 0.25, 0.875, problems=10)
    for each in (one, two):
        assert macro_average([summary_of(each)])["accuracy"] == each
    both = macro_average([summary_of(one), summary_of(two)])
    assert both["accuracy"].value == 0.25
    assert both["accuracy"].low == pytest.approx(0.25 - 0.25 / 2)
    assert both["accuracy"].high == pytest.approx(0.25 + math.hypot(0.25, 0.375) / 2)
    assert both["accuracy"].problems == 20


def summary_of(accuracy):
    return Summary(
        run="r", benchmark="b", model="m", protocol="p", status="complete", problems=10, samples=1, responses=10,
        missing=0, verdicts={}, accuracy=accuracy, truncation=accuracy, pass_at_k={}, groups={}, data={},
        prompt_sha256="",
    )  # fmt: skip


def test_evaluate_when_interrupted_then_the_next_data_set_is_not_started(data, tmp_path, capsys):
    import os
    import signal

    def stop(body):
        os.kill(os.getpid(), signal.SIGINT)
        return answer(body)

    with Loopback(Contract(answer=stop), keep=True) as server:
        words = ["--server-url", server.url, "--datasets", "math500", "aime-24", "--data-dir", str(data)]
        assert main([*words, "--output-dir", str(tmp_path / "out")]) == 130
        assert {json.loads(body)["dataset"] for _, body in server.seen} == {"math500"}
    assert "responses are missing" in capsys.readouterr().err


def test_evaluate_when_normalize_answer_is_edited_in_the_script_then_the_marks_change(door, data, tmp_path):
    script = tmp_path / "evaluate.py"
    shipped = (COMPAT / "evaluate.py").read_text()
    edited = shipped.replace("return box_without_markers(answer)", 'return "the same" if answer else ""')
    assert edited != shipped
    accuracies, protocols = [], []
    with Loopback(Contract(answer=answer)) as server:
        for number, text in enumerate((shipped, edited)):
            script.write_text(text)
            out = tmp_path / f"out{number}"
            words = ("--server-url", server.url, "--datasets", "aime-24", "--data-dir", data, "--output-dir", out)
            accuracies.append(figures(door("python3", script, *words).stdout)["aime-24"]["accuracy"])
            (file,) = out.glob("aime-24-*/summary.json")
            protocols.append(json.loads(file.read_text())["protocol"])
            # The run itself keeps a protocol that everybody has, so that it can be resumed and reported by itself.
            assert ms.Run.open(file.parent / "run").manifest.protocol.startswith("math@")
    assert accuracies == [0.5, 1.0]
    assert protocols[0] != protocols[1]


ANSWERS = [
    # response, gold, by the documented rule
    (r"so \boxed{-1/3 \\ 2/3}", r"-1/3 \\ 2/3", True),
    (r"\boxed{-1/3\\2/3}", r"-1/3 \\ 2/3", True),
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", True),  # braces in the box: the document's rule, not the code's
    (r"<think>\boxed{5}</think> Done.", "5", True),  # nothing is said of thinking
    (r"\fbox{5}", "5", False),
    (r"\boxed 5", "5", False),
    (r"\boxed{5", "5", False),
    (r"\boxed{\text{Evelyn}}", "evelyn", False),
    (r"\boxed{6} \boxed{}", "6", True),
    (r"\boxed{\boxed{6}}", "6", True),
    ("6\t", 6, True),
    ("\\boxed{" * 40_000, "6", False),
]


@pytest.mark.parametrize(("response", "gold", "right"), ANSWERS)
def test_normalize_answer_when_as_documented_then_the_last_box_without_markers(response, gold, right):
    assert (normalize_answer(response) == normalize_answer(gold)) is right


def test_evaluate_when_math_reads_more_then_it_stands_beside_and_one_option_exchanges_them(data, tmp_path, capsys):
    (data / "aime-24.jsonl").write_text('{"problem": "half?", "answer": "0.5"}\n')
    for number, (flags, value, other) in enumerate(
        [
            ([], 0.0, "By math: 1 of 1 samples are right; 1 differ from evaluate-py"),
            (["--protocol", "math"], 1.0, "By evaluate-py: 0 of 1 samples are right; 1 differ from math"),
        ]
    ):
        with Loopback(Contract(answer=answer)) as server:
            words = ["--server-url", server.url, "--datasets", "aime-24", "--data-dir", str(data), *flags]
            assert main([*words, "--output-dir", str(tmp_path / f"out{number}")]) == 0
        printed = capsys.readouterr().out
        assert figures(printed)["aime-24"]["accuracy"] == value
        assert f"top1={'correct' if value else 'incorrect'}" in printed
        assert f"  {other}\n" in printed


def test_evaluate_when_an_evaluation_is_complete_then_the_same_command_begins_another(data, tmp_path, monkeypatch):
    times = iter(["20260101-000000", "20260101-000001"])
    monkeypatch.setattr("markscheme.plugins.doors.evaluate.time.strftime", lambda form: next(times))
    with Loopback(Contract(answer=answer), keep=True) as server:
        words = ["--server-url", server.url, "--datasets", "aime-24", "--data-dir", str(data)]
        for _ in range(2):
            assert main([*words, "--output-dir", str(tmp_path / "out")]) == 0
        assert len(server.seen) == 4
    folders = sorted(folder.name for folder in (tmp_path / "out").iterdir() if folder.is_dir())
    assert folders == ["aime-24-20260101-000000", "aime-24-20260101-000001"]


def test_evaluate_when_it_prints_then_a_line_a_problem_with_its_id_as_the_original_has_it(tmp_path, capsys):
    rows = [{"id": 60, "problem": "first?", "answer": 5}, {"problem": "second?", "answer": "6"}]
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Loopback(Contract(answer=lambda body: r"\boxed{5}")) as server:
        flags = ["--server-url", server.url, "--datasets", "set", "--data-dir", str(tmp_path)]
        assert main([*flags, "--output-dir", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert [line.split(":")[0] for line in printed.partition("===\n")[2].splitlines()] == ["accuracy", "pass@1"]
    assert "[set#60] Problem 1/2: top1=correct\n[set] Problem 2/2: top1=incorrect\n\nDataset=set\n" in printed


def test_evaluate_when_openai_is_typed_then_no_variable_sends_the_key_elsewhere(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.test/v1")
    typed = [
        "--backend",
        "openai",
        "--server-url",
        "https://api.openai.com",
        "--model",
        "gpt-4o-mini",
        "--api-key",
        "K",
    ]
    args = _parser().parse_args([*typed, "--data-dir", str(COMPAT / "datasets")])
    monkeypatch.setenv("OPENAI_API_KEY", "K")  # put back afterwards: a typed key goes there
    assert _config(args, "math500").base_url == ("https://api.openai.com/v1",)
