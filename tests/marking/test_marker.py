"""The plain protocols on the examples their rules are stated with."""

import pytest

from markscheme.errors import MarkingError, UsageError
from markscheme.marking import get_protocol, mark, mark_many, protocol_names
from markscheme.types import Problem, Response, Verdict


@pytest.mark.parametrize(
    ("response", "gold", "protocol", "verdict"),
    [
        ("The answer is 30", "30", "gsm8k-strict", "no_answer"),
        ("30", "30", "gsm8k-strict", "correct"),
        ("So 3 * 6\n#### 18", "18", "gsm8k-strict", "correct"),
        ("#### 17\n…\n#### $18.0", 18, "gsm8k-strict", "correct"),
        ("#### 18\n…\n#### 25", "18", "gsm8k-strict", "wrong"),
        ("ANSWER: $72.00", 72, "gsm8k-numeric", "correct"),
        ("She earns $18 per day.", "18", "gsm8k-numeric", "correct"),
        ("#### 123457", "123456", "gsm8k-numeric", "wrong"),
        (r"<think>\boxed{12}</think> \[ \boxed{073} \]", 73, "aime", "correct"),
        (r"\boxed{73^\circ}", 73, "aime", "correct"),
        ("The answer is **73**.", 73, "aime", "correct"),
        (r"<think>\boxed{73}", 73, "aime", "truncated"),
        (r"\boxed{ \dfrac{1}{2} }", r"\frac{1}{2}", "normalized", "correct"),
        (r"\boxed{0.5}", r"\frac{1}{2}", "normalized", "wrong"),
    ],
)
def test_plain_protocols_on_their_own_examples_give_the_stated_verdict(response, gold, protocol, verdict):
    assert mark(response, gold=gold, protocol=protocol).verdict == verdict


def test_mark_when_the_protocol_is_unknown_names_the_known_ones():
    with pytest.raises(UsageError, match="gsm8k-strict"):
        mark("1", gold="1", protocol="no-such")


def test_mark_without_gold_raises_usage_error():
    with pytest.raises(UsageError, match="gold"):
        mark("1", protocol="aime")


def test_mark_when_gold_is_of_the_wrong_kind_raises_marking_error():
    with pytest.raises(MarkingError):
        mark("1", gold={"nums": [1], "target": 1}, protocol="aime")
    with pytest.raises(MarkingError):
        mark("1", gold="seven", protocol="countdown")


def test_mark_of_a_response_with_an_error_is_error_and_has_no_score():
    response = Response(key="k", sample=3, error="timed out")
    found = mark(response, Problem(id="1", statement="s", gold="5", protocol="aime"))
    assert (found.verdict, found.score, found.key, found.sample) == (Verdict.ERROR, None, "k", 3)
    assert found.protocol == get_protocol("aime").label


def test_mark_many_keeps_the_order():
    problem = Problem(id="1", statement="s", gold="5", protocol="gsm8k-strict")
    pairs = [(Response(key="k", sample=number, text=f"#### {number}"), problem) for number in range(20)]
    marks = list(mark_many(pairs, "gsm8k-strict"))
    assert [found.sample for found in marks] == list(range(20))
    assert [found.sample for found in marks if found.correct] == [5]


def test_every_listed_protocol_can_be_loaded():
    assert [get_protocol(name).name for name in protocol_names()] == list(protocol_names())


def install_plugin(folder, monkeypatch, entry_point, source):
    """A package as pip would leave it: a module, and metadata with an entry point."""
    (folder / "their_protocols.py").write_text(source)
    (folder / "their_protocols-1.0.dist-info").mkdir()
    metadata = folder / "their_protocols-1.0.dist-info"
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-protocols\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[markscheme.protocols]\n{entry_point}\n")
    monkeypatch.syspath_prepend(str(folder))


PLUGIN = """
from markscheme.marking import Assessment, Protocol
from markscheme.types import Verdict

def judge(sections, gold):
    if "fail" in sections.final:
        raise KeyError("not my day")
    return Assessment(Verdict.CORRECT if sections.final == gold else Verdict.WRONG, sections.final)

PROTOCOL = Protocol("verbatim", "3", "to the letter", "text", judge)
"""


def test_protocol_of_another_package_is_found_by_its_entry_point(tmp_path, monkeypatch):
    install_plugin(tmp_path, monkeypatch, "verbatim = their_protocols:PROTOCOL", PLUGIN)
    assert "verbatim" in protocol_names()
    found = mark("<think>x</think>seven", gold="seven", protocol="verbatim")
    assert (found.correct, found.protocol) == (True, "verbatim@3")
    failed = mark("fail", gold="seven", protocol="verbatim")
    assert (failed.verdict, failed.score) == (Verdict.UNMARKABLE, 0.0)
    assert "KeyError" in failed.why


def test_protocol_of_another_package_that_cannot_be_loaded_says_so(tmp_path, monkeypatch):
    install_plugin(tmp_path, monkeypatch, "broken = their_protocols:NOTHING", PLUGIN)
    with pytest.raises(UsageError, match="cannot be loaded"):
        get_protocol("broken")


def test_get_protocol_with_a_version_takes_only_that_version():
    assert get_protocol("aime@9") is get_protocol("aime")
    with pytest.raises(UsageError, match="version"):
        get_protocol("aime@99")


def test_mark_of_text_that_no_file_can_hold_can_still_be_written():
    import msgspec

    found = mark("\\boxed{\ud800 7}", gold="7", protocol="normalized")
    assert msgspec.json.decode(msgspec.json.encode(found))["verdict"] == "wrong"


def test_mark_of_something_that_is_no_response_raises_usage_error():
    with pytest.raises(UsageError, match="NoneType"):
        mark(None, gold="1", protocol="aime")


def endless():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("gold", "protocol"),
    [
        (10**5000, "math"),
        (10**5000, "gsm8k-strict"),
        ({"nums": [float("inf"), 3], "target": 5}, "countdown"),
        ({"nums": [1, 2], "target": float("nan")}, "countdown"),
        ({"nums": endless(), "target": 5}, "countdown"),
        ({"nums": [1, 2], "target": endless()}, "countdown"),
        ("[" * 100_000, "countdown"),
        ('{"nums": [1e999], "target": 3}', "countdown"),
    ],
    ids=range(8),
)
def test_gold_when_it_is_no_gold_then_a_sentence_and_no_traceback_of_ours(gold, protocol):
    with pytest.raises(MarkingError) as refused:
        mark("<answer>1 + 2</answer>", gold=gold, protocol=protocol)
    assert len(str(refused.value)) < 300
