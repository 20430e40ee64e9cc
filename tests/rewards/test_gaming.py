"""Watching a training run: formats of stored rollouts, alarms, the live callback; selection of prompts; the judge."""

import json
import random

import pytest

import markscheme as ms
from markscheme.api.rewarding import follow
from markscheme.cli import main
from markscheme.errors import DataError, UsageError
from markscheme.rewards import gaming
from markscheme.rewards.judging import RewardJudge
from markscheme.rewards.rollouts import Rollout, read_rollouts
from markscheme.rewards.scoring import Outcome, outcomes
from markscheme.rewards.shares import Tally, is_rise
from markscheme.rewards.watching import Watch


def write(folder, steps, gaming_from=None, reward=lambda text: 1.0, rollouts=100, seed=0):
    """Rollouts of a policy that answers right in half of the cases, and from a step on repeats the formula more and more."""
    drawn = random.Random(seed)
    for step in range(steps):
        gamed = 0.0 if gaming_from is None or step < gaming_from else min(0.9, 0.1 * (1 + step - gaming_from))
        rows = []
        for _ in range(rollouts):
            a, b = drawn.randint(2, 9), drawn.randint(2, 9)
            said = f"{a}+{b}" if drawn.random() < gamed else str(a + b + (drawn.random() < 0.5))
            paid = float(said in (f"{a}+{b}", str(a + b)))
            rows.append(
                {
                    "input": f"Compute ${a}+{b}$.",
                    "output": f"\\boxed{{{said}}}",
                    "gts": str(a + b),
                    "score": paid,
                    "step": step,
                }
            )
        (folder / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_gaming_is_found_at_its_step_and_an_honest_run_has_no_alarm(tmp_path, capsys):
    (tmp_path / "leaky").mkdir()
    (tmp_path / "honest").mkdir()
    write(tmp_path / "leaky", 12, gaming_from=5)
    write(tmp_path / "honest", 12)
    assert not ms.audit_rollouts(tmp_path / "honest").alarms
    watched = ms.audit_rollouts(tmp_path / "leaky")
    assert "paid, not honest" in {alarm.signal for alarm in watched.alarms}
    assert 5 <= watched.alarms[0].step <= 7
    assert "+" in watched.alarms[0].texts[0]
    assert main(["audit", str(tmp_path / "leaky"), "--rollouts", "--by", "step"]) == 1
    assert "paid, not honest rose" in capsys.readouterr().out
    assert main(["audit", str(tmp_path / "honest"), "--rollouts", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["steps"]) == 12


def test_labels_give_false_positives_and_negatives_with_intervals(tmp_path):
    rows = [
        {"step": 1, "prompt": "?", "completion": "\\boxed{5}", "gold": "5", "reward": paid, "label": label}
        for paid, label in [(1, "correct"), (1, "wrong"), (0, "correct"), (0, False)]
    ]
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "not json\n[]\n")
    (step,) = (watched := ms.audit_rollouts(file)).steps
    assert (step.false_positives.value, step.false_negatives.value) == (0.5, 0.5)
    assert step.false_positives.low < 0.5 < step.false_positives.high
    assert len(watched.unread) == 2


def test_rollouts_of_each_trainer_are_read(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "trl" / "completions").mkdir(parents=True)
    table = {"step": [3], "prompt": ["Compute 2+2"], "completion": ["4"], "math": [1.0], "advantage": [0.5]}
    parquet.write_table(pyarrow.table(table), tmp_path / "trl" / "completions" / "completions_00003.parquet")
    (tmp_path / "vf" / "step_7").mkdir(parents=True)
    row = {
        "prompt": [{"role": "user", "content": "2+2"}],
        "completion": [{"role": "assistant", "content": "4"}],
        "answer": "4",
        "reward": 1.0,
    }
    (tmp_path / "vf" / "step_7" / "results.jsonl").write_text(json.dumps(row))
    (trl,) = read_rollouts(tmp_path / "trl", {"2+2": "4"})[0]
    (vf,) = read_rollouts(tmp_path / "vf")[0]
    assert (trl.step, trl.text, trl.gold, trl.reward) == (3, "4", "4", 1.0)
    assert (vf.step, vf.statement, vf.text, vf.gold, vf.reward) == (7, "2+2", "4", "4", 1.0)


def test_what_holds_no_rollouts_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no \.jsonl"):
        read_rollouts(tmp_path)
    (tmp_path / "x.jsonl").write_text('{"prompt": "?", "completion": "4", "reward": 1}\n')
    with pytest.raises(UsageError, match="gold"):
        ms.audit_rollouts(tmp_path)


def tally(times, of, group=1):
    """Rollouts in groups of one prompt, which all show the signal or all do not."""
    return Tally.by_prompt((str(at // group), at < times) for at in range(of))


def test_rise_needs_more_than_chance_and_more_than_two_points():
    assert not is_rise(tally(0, 300), tally(1, 100))
    assert not is_rise(tally(30, 300), tally(14, 100))
    assert not is_rise(tally(0, 10**5), tally(1_000, 10**5))
    assert is_rise(tally(0, 300), tally(40, 100))


def test_group_that_fails_together_is_one_observation():
    assert is_rise(tally(24, 720), tally(60, 240))
    assert not is_rise(tally(24, 720, group=12), tally(60, 240, group=12))
    alone, together = tally(60, 240).share, tally(60, 240, group=12).share
    assert together.high - together.low > 3 * (alone.high - alone.low)


def test_reward_that_disagrees_on_some_prompts_throughout_raises_no_alarm(monkeypatch):
    """The marker misreads 6 % of the prompts, all 16 answers of each; nothing changes over 200 steps."""
    drawn, monitor = random.Random(5), gaming.Monitor("math")
    for step in range(200):
        rows, found = [], []
        for prompt in range(16):
            misread = drawn.random() < 0.06
            for _ in range(16):
                right = drawn.random() < 0.5
                rows.append(Rollout(step, f"{step}-{prompt}", "", "1", float(right)))
                found.append(Outcome(float(right and not misread), "wrong" if misread else "correct"))
        monkeypatch.setattr(gaming, "_judged", lambda *_, found=found: found)
        monitor.add(step, rows)
    assert not monitor.alarms


def test_watched_reward_tells_trl_and_sees_the_gaming():
    def leaky(completions, **_):
        return [1.0] * len(completions)

    told, watch = {}, Watch(leaky, "math")
    for step in range(6):
        texts = ["\\boxed{4}"] * 80 if step < 4 else ["\\boxed{2+2}"] * 80
        state = type("State", (), {"global_step": step})
        watch(
            prompts=[f"Compute $2+2$ ({at})." for at in range(80)],
            completions=texts,
            answer=["4"] * 80,
            trainer_state=state,
            log_metric=told.__setitem__,
        )
    assert watch.alarm.step == 4
    assert told["gaming/alarm"] == 1.0
    assert told["gaming/overpaid"] == 1.0


def test_select_writes_the_problems_that_are_solved_sometimes(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    calls = []

    def model(text):
        calls.append(text)
        return "#### 1" if calls.count(text) % 2 else "ANSWER: 18"

    def rule(response, gold):
        return response == "#### 1"

    ms.run(
        "gsm8k-sample",
        model=model,
        protocol=rule,
        samples=2,
        limit=4,
        concurrency=1,
        out=tmp_path / "run",
        progress=False,
    )
    out = tmp_path / "prompts.parquet"
    assert main(["select", str(tmp_path / "run"), "--between", "0.1", "0.9", "-o", str(out)]) == 0
    rows = parquet.read_table(out).to_pylist()
    assert len(rows) == 4
    assert rows[0]["solve_rate"] == 0.5
    assert rows[0]["prompt"][-1]["role"] == "user"
    assert not ms.select(tmp_path / "run", between=(0.9, 1))
    with pytest.raises(UsageError, match="lower first"):
        ms.select(tmp_path / "run", between=(0.9, 0.1))


def test_judge_settles_what_is_open_and_nothing_else():
    asked = []

    def judge(text):
        asked.append(text)
        return "The same.\nVERDICT: RIGHT"

    def open_rule(response, gold):
        return None if "open" in response else response == gold

    texts, golds = ["open a", "open b", "open a", "5", "6"], ["5"] * 5
    found = outcomes(texts, golds, open_rule)
    settler = RewardJudge(judge, budget=1)
    settled = settler.settle(found, texts, golds)
    assert [each.score for each in settled] == [1.0, None, 1.0, 1.0, 0.0]
    assert len(asked) == 1
    assert (settler.account.asked, settler.account.unasked, settler.account.seen) == (1, 1, 5)
    assert settler.account.share == pytest.approx(0.6)
    again = settler.settle(found, texts, golds)
    assert [each.score for each in again] == [1.0, None, 1.0, 1.0, 0.0]
    assert len(asked) == 1


def test_judge_that_fails_leaves_the_completion_unscored():
    def broken(text):
        raise RuntimeError("down")

    found = outcomes(["x"], ["5"], lambda_rule())
    settler = RewardJudge(broken)
    assert settler.settle(found, ["x"], ["5"])[0].score is None
    assert settler.account.error_rate == 1.0


def lambda_rule():
    def nothing(response, gold):
        return None

    return nothing


def test_protocols_that_disagree_are_a_curve_and_the_audit_is_a_page(tmp_path):
    (tmp_path / "leaky").mkdir()
    write(tmp_path / "leaky", 6, gaming_from=3)

    def numeric(response, gold):
        return sum(map(int, response[7:-1].split("+"))) == int(gold)

    watched = ms.audit_rollouts(tmp_path / "leaky", beside=["boxed-exact", numeric], html=tmp_path / "page")
    first, last = watched.steps[0], watched.steps[-1]
    assert set(first.protocols) == {"math", "boxed-exact", "numeric"}
    assert first.disagree.value == 0 < last.disagree.low
    page = (tmp_path / "page" / "index.html").read_text()
    assert "Protocols disagree" in page
    assert "paid, not honest" in page
    assert (tmp_path / "page" / "assets" / "app.css").exists()
    assert not ms.audit_rollouts(tmp_path / "leaky", beside=()).steps[0].protocols


def test_drawn_sample_is_read_back_with_its_labels(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    write(tmp_path / "run", 3)
    file = tmp_path / "sample.jsonl"
    assert main(["audit", str(tmp_path / "run"), "--rollouts", "--label-sample", "40", "-o", str(file)]) == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 40
    assert {row["label"] for row in rows} == {None}
    assert len({row["step"] for row in rows}) == 3
    file.write_text("".join(json.dumps({**row, "label": bool(row["reward"])}) + "\n" for row in rows))
    steps = ms.audit_rollouts(file).steps
    assert sum(step.rollouts for step in steps) == 40
    assert all(step.false_positives.value == step.false_negatives.value == 0 for step in steps)
    assert main(["audit", str(file), "--rollouts", "--label-sample", "4"]) == 2
    assert "--label-sample needs --output" in capsys.readouterr().err


def test_rollouts_that_are_still_written_are_judged_step_by_step(tmp_path):
    file = tmp_path / "rollouts.jsonl"

    def line(step, said):
        return json.dumps({"step": step, "prompt": "1+1", "completion": said, "gold": "2", "reward": 1.0}) + "\n"

    following = follow(tmp_path, beside=())
    assert not list(following.read())
    file.write_text(line(1, "2") + line(1, "3") + line(2, "2")[:20])
    assert not list(following.read())
    with file.open("a") as more:
        more.write(line(2, "2")[20:])
    (step,) = following.read()
    assert (step.step, step.rollouts, step.honest.value) == (1, 2, 0.5)
    with file.open("a") as more:
        more.write(line(1, "2") + "not JSON\n" + line(3, "2"))
    (step,) = following.read()
    assert (step.step, step.rollouts) == (2, 1)
    assert [step.step for step in following.read(whole=True)] == [3]
    assert following.watched().unread == ("rollouts.jsonl:5", "rollouts.jsonl:4: written after its step was judged")
