"""Reward functions: the signatures that TRL and verl call, every protocol, threads, and what cannot be scored."""

import asyncio
import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from markscheme import rewards
from markscheme.errors import UsageError
from markscheme.marking import protocol_names

PUZZLE = {"nums": [3, 5, 2], "target": 16}
RIGHT = {"countdown": ("<answer>2*(3+5)</answer>", PUZZLE), "default": ("It is\n#### 18", "18")}
BOXED = ("So $\\boxed{18}$.", "18")


def as_trl_calls_it(function, completions, **columns):
    """As GRPOTrainer of TRL 1.16 does: keywords only, every data set column, and what the trainer adds."""
    return function(
        prompts=[[{"role": "user", "content": "?"}]] * len(completions),
        completions=completions,
        completion_ids=[[1, 2, 3]] * len(completions),
        trainer_state=object(),
        log_extra=lambda name, values: None,
        log_metric=lambda name, value: None,
        **columns,
    )


def offline_protocols():
    return [name for name in protocol_names() if name != "math-verify"]


@pytest.mark.parametrize("protocol", offline_protocols())
def test_reward_of_every_protocol_when_right_is_one_and_when_wrong_is_zero(protocol):
    boxed = protocol in ("boxed-exact", "nanochat-aime", "normalized", "aime", "math")
    text, gold = BOXED if boxed else RIGHT.get(protocol, RIGHT["default"])
    function = getattr(rewards, protocol.replace("-", "_"))
    assert function.__name__ == protocol.replace("-", "_")
    assert as_trl_calls_it(function, [text, "I do not know."], gold=[gold, gold]) == [1.0, 0.0]


def test_reward_when_completions_are_message_lists_reads_the_assistants_last_text():
    completions = [
        [{"role": "assistant", "content": "\\boxed{18}"}],
        [{"role": "assistant", "content": [{"type": "text", "text": "\\boxed{18}"}]}],
        [
            {"role": "assistant", "content": "\\boxed{17}"},
            {"role": "tool", "content": "\\boxed{16}"},
            {"role": "assistant", "content": "\\boxed{18}"},
        ],
        [{"role": "assistant", "content": None}],
        [],
    ]
    assert as_trl_calls_it(rewards.aime, completions, answer=["18"] * 5) == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_reward_when_the_data_names_the_protocol_row_by_row_follows_it():
    found = as_trl_calls_it(
        rewards.reward,
        ["The answer is 30", "The answer is 30", "2*(3+5)"],
        gold=["30", "30", PUZZLE],
        protocol=["gsm8k-strict", "gsm8k-numeric", "countdown"],
    )
    assert found == [0.0, 1.0, 1.0]


def test_reward_when_gold_is_missing_or_unreadable_is_none():
    assert as_trl_calls_it(rewards.gsm8k_numeric, ["#### 18"] * 2, answer=[None, "no number here"]) == [None, None]


def test_reward_on_gsm8ks_own_answer_column_reads_behind_the_hashes():
    assert as_trl_calls_it(rewards.gsm8k_numeric, ["ANSWER: 18"], answer=["9 * 2 = <<9*2=18>>18\n#### 18"]) == [1.0]


def test_wrong_call_scores_zero_and_is_told_once(capsys):
    mine = rewards.reward_for("aime", gold_column="mine")
    for _ in range(2):
        assert as_trl_calls_it(rewards.aime, ["\\boxed{1}"], question=["?"]) == [0.0]
        assert as_trl_calls_it(mine, ["\\boxed{1}"], gold=["1"]) == [0.0]
    told = capsys.readouterr().err
    assert told.count("ground_truth") <= 1
    assert told.count("'mine'") == 1
    (found,) = mine.outcomes(["?"], ["\\boxed{1}"], gold=["1"])
    assert "'mine'" in found.why


def test_countdown_reward_with_format_score_gives_tinyzeros_three_levels():
    function = rewards.reward_for("countdown", format_score=0.1)
    completions = ["<answer>2*(3+5)</answer>", "<answer>3*5+2</answer>", "<answer>3*3+5+2</answer>", "no idea"]
    found = as_trl_calls_it(function, completions, nums=[[3, 5, 2]] * 4, target=[16] * 4)
    assert found == [1.0, 0.1, 0.1, 0.0]


def test_compute_score_as_verl_calls_it_chooses_the_protocol_by_source_or_by_name():
    call = rewards.compute_score
    assert call(data_source="openai/gsm8k", solution_str="ANSWER: 18", ground_truth="18", extra_info={}) == 1.0
    assert call(data_source="aime_2024", solution_str="\\boxed{073}", ground_truth="73", extra_info=None) == 1.0
    assert call("HuggingFaceH4/MATH-500", "\\boxed{\\frac{2}{4}}", "\\frac12", {"num_turns": 1}) == 1.0
    assert call("x", "\\boxed{073}", "73", {"protocol": "boxed-exact"}) == 0.0
    assert call("x", "\\boxed{073}", "73", protocol="aime", reward_router_address=None) == 1.0
    tinyzero = {"target": 16, "numbers": [3, 5, 2]}
    assert call("countdown", "<answer>3*5+2</answer>", tinyzero, format_score=0.1) == 0.1
    assert call("openai/gsm8k", "18", None) == 0.0  # verl needs a number


def test_compute_score_when_ground_truth_comes_from_parquet_takes_numpy_numbers():
    numpy = pytest.importorskip("numpy")
    gold = {"target": numpy.int64(16), "numbers": numpy.array([3, 5, 2])}
    assert rewards.compute_score("countdown", "<answer>2*(3+5)</answer>", gold) == 1.0


def test_compute_score_batch_as_verls_batch_manager_calls_it_keeps_the_order():
    found = rewards.compute_score_batch(
        data_sources=["openai/gsm8k"] * 3,
        solution_strs=["#### 1", "#### 2", "#### 3"],
        ground_truths=["1", "5", "3"],
        extra_infos=[{}, {}, {}],
    )
    assert found == [1.0, 0.0, 1.0]


def test_score_batch_mixing_quick_and_slow_protocols_keeps_the_order():
    size = 200
    completions = [f"\\boxed{{{number}}}" for number in range(size)]
    protocols = ["math" if number % 3 else "aime" for number in range(size)]
    golds = [str(number if number % 2 else number + 1) for number in range(size)]
    assert rewards.score_batch(completions, golds, protocols) == [float(number % 2) for number in range(size)]


@pytest.mark.parametrize(
    ("golds", "options"),
    [(["1"], {}), (["1", "2"], {"protocol": "no-such"}), (["1", "2"], {"stricter": 1}), (["1", "2"], {"strict": "very"}),
     (["1", "2"], {"think_end": 5}), (["1", "2"], {"strict": "form", "form": []}),
     ([{"nums": 3}, {}], {}), ([object(), object()], {"protocol": "countdown"}), (None, {})],
)  # fmt: skip
def test_score_batch_never_raises_on_a_wrong_call(golds, options):
    assert rewards.score_batch(["1", "2"], golds, **options) == [0.0, 0.0]


def test_gold_that_is_a_list_is_right_if_one_member_is():
    numpy = pytest.importorskip("numpy")
    for gold in (["5", "7"], numpy.array(["5", "7"], dtype=object), [7]):
        assert rewards.compute_score("anything", "\\boxed{7}", gold) == 1.0
        assert rewards.compute_score(None, "\\boxed{8}", gold, "not a dict") == 0.0


def test_extras_have_the_same_keys_and_types_for_every_completion():
    golds = ["5", "5", None, "5"]
    made = rewards.compute_score_batch(["x"] * 4, ["\\boxed{5}", "no", "", "\\boxed{6"], golds, extras=True)
    kinds = [{name: type(value) for name, value in each.items()} for each in made]
    assert all(each == kinds[0] for each in kinds)
    assert made[0]["acc"] == 1.0
    assert made[0]["pred"] == "5"


def test_validation_metrics_estimate_without_bias_and_with_intervals():
    uids = [uid for uid in "abcd" for _ in range(4)]
    right = [1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    pred = ["7" if each else f"{at}" for at, each in enumerate(right)]
    (made,) = rewards.validation_metrics(["s"] * 16, uids, {"acc": right, "pred": pred}).values()
    assert made["acc"]["mean@4"] == pytest.approx(7 / 16)
    assert made["acc"]["best@2/mean"] == pytest.approx((5 / 6 + 1 / 2 + 1 + 0) / 4)
    assert made["acc"]["maj@4/mean"] == pytest.approx((1 + 1 / 4 + 1 + 0) / 4)
    assert made["acc"]["mean@4/low"] < 7 / 16 < made["acc"]["mean@4/high"]


def _in_a_child(queue, texts):
    queue.put(rewards.score_batch(texts, ["7"] * len(texts), "math", strict=True))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_rewards_in_a_child_process_give_the_same(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_a_child, args=(queue, ["\\boxed{7}", "\\boxed{8}", "$\\sqrt{49}$"]))
    child.start()
    assert queue.get(timeout=120)[:2] == [1.0, 0.0]
    child.join()


def test_trl_gets_columns_and_metrics_beside_the_reward():
    columns, metrics = {}, {}
    rewards.aime(
        prompts=["?"] * 2, completions=["\\boxed{1}", "\\boxed{2}"], answer=["1", "1"],
        log_extra=columns.__setitem__, log_metric=metrics.__setitem__,
    )  # fmt: skip
    assert columns["aime_verdict"] == ["correct", "wrong"]
    assert columns["aime_answer"] == ["1", "2"]
    assert metrics["aime/format"] == 1.0


def test_rewards_in_a_thread_executor_and_in_asyncio_give_the_same():
    async def many():
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(None, rewards.compute_score, "x", f"\\boxed{{{n}}}", "7") for n in range(40)]
        return await asyncio.gather(*calls)

    expected = [1.0 if n == 7 else 0.0 for n in range(40)]
    assert asyncio.run(many()) == expected
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: rewards.score(f"\\boxed{{{n}}}", "7", "math"), range(40))) == expected


def test_reward_function_after_pickling_is_the_same():
    function = pickle.loads(pickle.dumps(rewards.reward_for("countdown", format_score=0.1)))
    assert function(completions=["<answer>3*5+2</answer>"], gold=[PUZZLE]) == [0.1]
    assert function.__name__ == "countdown"


def test_rewards_when_a_protocol_is_misspelt_tell_at_once():
    with pytest.raises(UsageError, match="no protocol"):
        rewards.reward_for("gsm8k-numerical")
    with pytest.raises(AttributeError):
        _ = rewards.no_such_protocol


def test_rewards_and_equal_are_found_on_the_package_itself():
    import markscheme as ms

    assert ms.rewards.score("\\boxed{7}", 7, "aime") == 1.0
    assert ms.equal(r"\frac{1}{2}", "0.5")
