"""A protocol's version changes when its verdicts do: a digest of its verdicts on a fixed corpus, by version.

python tests/marking/test_versions.py    records today's digests; refuses where verdicts changed and the version did not
"""

import hashlib
import json
import sys
from pathlib import Path

from markscheme.errors import MarkschemeError
from markscheme.marking import get_protocol, mark, protocol_names

CASES = Path(__file__).parent / "cases"
RECORDED = CASES / "version_digests.json"
CORPUS = ("conclusions.jsonl", "countdown.jsonl")
MOST = 150  # cases of each file, to keep this quick


def corpus():
    for name in CORPUS:
        for line in (CASES / name).read_text().splitlines()[:MOST]:
            case = json.loads(line)
            yield case["response"], case["gold"]


def digest(protocol):
    """A hash of the verdicts and answers of one protocol on the corpus; what it cannot judge counts as that."""
    said = hashlib.sha256()
    for response, gold in corpus():
        try:
            one = mark(response, gold=gold, protocol=protocol)
            said.update(f"{one.verdict} {one.score}\n".encode())
        except MarkschemeError:
            said.update(b"not for this protocol\n")
    return said.hexdigest()[:16]


def digests():
    ours = sorted(set(protocol_names()) - {"math-verify"})  # whose verdicts are the installed library's
    return {name: {"version": get_protocol(name).version, "digest": digest(name)} for name in ours}


def unversioned(before, now):
    """Protocols whose verdicts changed under the same version."""
    return [
        name
        for name, each in now.items()
        if name in before and each["version"] == before[name]["version"] and each["digest"] != before[name]["digest"]
    ]


def test_protocol_when_its_verdicts_change_then_its_version_does():
    before, now = json.loads(RECORDED.read_text()), digests()
    assert unversioned(before, now) == [], "raise the version in marking/protocols/table.py, then record"
    assert before == now, "record the digests of the new versions: python tests/marking/test_versions.py"


def test_recording_when_a_verdict_changes_without_a_version_then_it_is_named():
    before = {"a": {"version": "1", "digest": "x"}, "b": {"version": "1", "digest": "x"}}
    now = {"a": {"version": "1", "digest": "y"}, "b": {"version": "2", "digest": "y"}}
    assert unversioned(before, now) == ["a"]


def record():
    before, now = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}, digests()
    if changed := unversioned(before, now):
        return f"{', '.join(changed)}: verdicts changed; raise the version in marking/protocols/table.py first"
    RECORDED.write_text(json.dumps(now, indent=2) + "\n")
    return None


if __name__ == "__main__":
    sys.exit(record())
