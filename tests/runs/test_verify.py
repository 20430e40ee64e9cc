"""Whatever is altered in a run folder that has ended is found; what the commands themselves do to it is not reported."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

import markscheme as ms
from markscheme.cli import main
from markscheme.reporting.verifying import verify_run
from markscheme.runs.adjudications import Adjudication, content_of, labels_journal
from markscheme.runs.digests import altered
from markscheme.runs.folder import Run

KINDS = 200


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify") / "run"
    ms.run("countdown-sample", model="solver", limit=6, samples=2, temperature=0.5, out=folder, progress=False)
    return folder


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def a_byte(file, luck):
    content = bytearray(file.read_bytes())
    at = luck.randrange(len(content))
    content[at] = (content[at] + luck.randrange(1, 256)) % 256
    file.write_bytes(content)


def a_line_removed(file, luck):
    lines = lines_of(file)
    del lines[luck.randrange(len(lines))]
    file.write_bytes(b"".join(lines))


def a_line_doubled(file, luck):
    lines = lines_of(file)
    lines.insert(luck.randrange(len(lines) + 1), luck.choice(lines))
    file.write_bytes(b"".join(lines))


def a_line_moved(file, luck):
    lines = lines_of(file)
    a, b = luck.sample(range(len(lines)), 2)
    lines[a], lines[b] = lines[b], lines[a]
    file.write_bytes(b"".join(lines))


def a_file_cut(file, luck):
    file.write_bytes(file.read_bytes()[: luck.randrange(file.stat().st_size)])


def a_file_removed(file, luck):
    file.unlink()


def a_value(file, luck):
    """A field of a line gets another value: a mark, a gold, a text, a sample, the version of a protocol."""
    lines = lines_of(file)
    at = luck.randrange(len(lines))
    stored = json.loads(lines[at])
    place = stored["problem"] if "problem" in stored and luck.random() < 0.7 else stored
    name = luck.choice(sorted(place))
    place[name] = f"{place[name]}?" if isinstance(place[name], str) else [place[name], 1]
    lines[at] = json.dumps(stored).encode() + b"\n"
    file.write_bytes(b"".join(lines))


JSONL = ("problems.jsonl", "responses.jsonl", "marks/countdown.jsonl")
OTHERS = ("usage.json", "report.json", "lines.json", "manifest.json")


def in_the_manifest(folder, luck):
    """A setting, a count, a protocol's version, a digest: altered or removed, and never the digests as a whole."""
    file = folder / "manifest.json"
    stored = json.loads(file.read_bytes())
    place, name = stored, luck.choice(sorted(stored))
    while isinstance(place[name], dict) and place[name] and luck.random() < 0.8:
        place, name = place[name], luck.choice(sorted(place[name]))
    if name == "settings_sha256" or luck.random() < 0.6:
        place[name] = f"{place[name]}0" if isinstance(place[name], str) else 7 if place[name] != 7 else 8
    else:
        del place[name]
    file.write_text(json.dumps(stored, indent=2))


def alteration(folder: Path, number: int) -> str:
    luck = random.Random(number)
    if number % 5 == 4:
        in_the_manifest(folder, luck)
        return "manifest"
    by_line = (a_line_removed, a_line_doubled, a_line_moved, a_value)
    alter = luck.choice((a_byte, a_file_cut, a_file_removed, *by_line, *by_line))
    names = JSONL if alter in by_line else (*JSONL, *OTHERS)
    name = luck.choice(names)
    alter(folder / name, luck)
    return f"{alter.__name__} of {name}"


def is_found(folder: Path) -> bool:
    try:
        run = Run.open(folder)
    except ms.MarkschemeError:
        return True
    if not run.manifest.digests and not run.manifest.settings_sha256:
        return True  # verify then says that there are none
    return bool(altered(folder, run.manifest)) or run.manifest.status == "running"


def test_folder_when_anything_in_it_is_altered_then_it_no_longer_matches_its_digests(ended, tmp_path):
    missed, made = [], 0
    for number in range(KINDS):
        folder = tmp_path / str(number)
        shutil.copytree(ended, folder)
        what = alteration(folder, number)
        same = all((folder / name).exists() and (folder / name).read_bytes() == (ended / name).read_bytes() for name in
                   (*JSONL, *OTHERS))  # fmt: skip
        made += not same
        if not same and not is_found(folder):
            missed.append((number, what))
        shutil.rmtree(folder)
    assert made > 0.95 * KINDS
    assert not missed


@pytest.mark.parametrize("number", range(0, 40, 3))
def test_verify_when_a_folder_was_altered_then_it_exits_non_zero_without_a_traceback(ended, tmp_path, capsys, number):
    shutil.copytree(ended, tmp_path / "run")
    alteration(tmp_path / "run", number)
    assert main(["verify", str(tmp_path / "run"), "--workers", "1"]) != 0
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err


def holds(folder: Path) -> None:
    verified = verify_run(Run.open(folder), 1)
    assert verified.holds, verified
    assert not altered(folder, Run.open(folder).manifest)


def test_verify_when_a_run_is_untouched_copied_grown_resumed_or_marked_again_then_it_holds(ended, tmp_path, capsys):
    folder = tmp_path / "elsewhere"
    shutil.copytree(ended, folder)
    holds(folder)
    assert main(["resume", str(folder)]) == 0
    holds(folder)
    assert main(["resume", str(folder), "--limit", "8"]) == 0
    holds(folder)
    assert main(["resume", str(folder), "-n", "3"]) == 0
    holds(folder)
    assert main(["mark", str(folder), "--protocol", "countdown"]) == 0
    holds(folder)
    capsys.readouterr()
    assert main(["verify", str(folder)]) == 0
    assert "24 of 24 are the same when recomputed" in capsys.readouterr().out


def test_verify_when_people_labelled_responses_after_the_run_then_it_holds(ended, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(ended, folder)
    adjudication = Adjudication(Run.open(folder).snapshot())
    with labels_journal(folder, "ada") as journal:
        for at in range(3):
            _, response = adjudication.shown(at)
            journal.write([adjudication.label(at, content_of(response), "wrong", "ada")])
    holds(folder)


def test_resume_when_a_kept_response_was_altered_before_then_the_folder_still_does_not_match(ended, tmp_path):
    shutil.copytree(ended, tmp_path / "run")
    file = tmp_path / "run" / "responses.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"latency":0', b'"latency":1', 1))
    assert main(["resume", str(tmp_path / "run"), "--limit", "7"]) == 0
    assert altered(tmp_path / "run", Run.open(tmp_path / "run").manifest) == ["responses.jsonl"]


def test_verify_when_a_mark_was_altered_then_it_names_the_line_and_the_response(ended, tmp_path, capsys):
    shutil.copytree(ended, tmp_path / "run")
    file = tmp_path / "run" / "marks" / "countdown.jsonl"
    lines = lines_of(file)
    lines[3] = lines[3].replace(b'"correct"', b'"wrong"')
    file.write_bytes(b"".join(lines))
    assert main(["verify", str(tmp_path / "run"), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    found = json.dumps(said)
    assert "line 4" in found
    assert "11 of 12 are the same when recomputed" in found
    assert f"{json.loads(lines[3])['key']} sample" in found


@pytest.mark.parametrize("command", ["report", "compare"])
def test_report_and_compare_when_a_folder_was_altered_then_one_line_says_so(ended, tmp_path, capsys, command):
    shutil.copytree(ended, tmp_path / "run")
    named = [str(ended), str(tmp_path / "run")] if command == "compare" else [str(tmp_path / "run")]
    assert main([command, *named]) == 0
    assert "digests" not in capsys.readouterr().err
    a_line_doubled(tmp_path / "run" / "responses.jsonl", random.Random(1))
    assert main([command, *named]) == 0
    assert capsys.readouterr().err.count("no longer matches its digests (responses.jsonl)") == 1


def test_folder_without_digests_is_read_as_ever_and_verify_says_that_there_are_none(ended, tmp_path, capsys):
    shutil.copytree(ended, tmp_path / "run")
    file = tmp_path / "run" / "manifest.json"
    stored = json.loads(file.read_bytes())
    del stored["digests"], stored["settings_sha256"]
    file.write_text(json.dumps(stored))
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "digests" not in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "run")]) == 1
    assert "no digests recorded" in capsys.readouterr().out


def in_lines(name, **values):
    """The first line of a file gets other values."""

    def alter(folder):
        lines = lines_of(folder / name)
        stored = json.loads(lines[0])
        place = stored["problem"] if name == "problems.jsonl" and "messages" not in values else stored
        place.update(values)
        (folder / name).write_bytes(json.dumps(stored).encode() + b"\n" + b"".join(lines[1:]))

    return alter


def in_json(name, *path, value):
    def alter(folder):
        stored = place = json.loads((folder / name).read_bytes())
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        (folder / name).write_text(json.dumps(stored))

    return alter


@pytest.mark.parametrize(
    "alter",
    [
        in_lines("marks/countdown.jsonl", verdict="wrong"),
        in_lines("marks/countdown.jsonl", answer="1 + 1"),
        in_lines("problems.jsonl", gold={"nums": [1, 2, 3], "target": 6}),
        in_lines("problems.jsonl", statement="another question"),
        in_lines("responses.jsonl", text="<answer>1 + 1</answer>"),
        in_lines("responses.jsonl", attempts=50),
        in_json("report.json", "accuracy", "value", value=0.123),
        in_json("usage.json", "total", "attempts", value=99),
        in_json("manifest.json", "counts", "correct", value=99),
        in_json("manifest.json", "problems", value=99),
        in_json("manifest.json", "prompt_sha256", value="00"),
        in_json("manifest.json", "model", value="another"),
    ],
)
def test_verify_when_the_digests_were_made_anew_then_what_does_not_fit_is_still_found(ended, tmp_path, alter):
    folder = tmp_path / "run"
    shutil.copytree(ended, folder)
    alter(folder)
    run = Run.open(folder)
    run.seal(msgspec.structs.replace(run.manifest, digests={}))
    assert not altered(folder, run.manifest)
    assert not verify_run(Run.open(folder), 1).holds


def test_manifest_when_a_name_is_in_it_twice_or_it_is_laid_out_otherwise_then_it_is_altered(ended, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(ended, folder)
    text = (folder / "manifest.json").read_text()
    started = text.index('  "started"')
    line = text[started : text.index("\n", started) + 1]
    moved = text.replace(line, "").replace("{\n", "{\n" + line, 1)
    for other in (text.replace("{", '{\n  "model": "better",', 1), text + "\n", moved):
        (folder / "manifest.json").write_text(other)
        assert altered(folder, Run.open(folder).manifest) == ["manifest.json"]


def test_verify_when_there_are_other_files_then_they_are_named_and_do_no_harm(ended, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(ended, folder)
    (folder / "notes.txt").write_text("mine")
    checks = {each.what: each for each in verify_run(Run.open(folder), 1).checks}
    assert "notes.txt" in checks["other files"].found
    assert all(each.holds is not False for each in checks.values())


@pytest.fixture
def key(tmp_path):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    made = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada@example.org", "-f", made], check=True)
    return made


def test_signature_when_made_then_it_holds_until_something_changes_and_travels_in_the_archive(ended, tmp_path, key):
    folder, other = tmp_path / "run", tmp_path / "other.pub"
    shutil.copytree(ended, folder)
    assert main(["verify", str(folder), "--signature", f"{key}.pub"]) == 1  # not signed yet
    assert main(["verify", str(folder), "--sign", str(key)]) == 0
    assert main(["export", str(folder), "-o", str(tmp_path / "run.msz")]) == 0
    allowed = tmp_path / "allowed"
    allowed.write_text(f'ada@example.org namespaces="markscheme" {Path(f"{key}.pub").read_text()}')
    for keys in (f"{key}.pub", allowed):
        (signature,) = [
            each for each in ms.verify(tmp_path / "run.msz", signature=keys)[0].checks if each.what == "signature"
        ]
        assert signature.holds
        assert "ada@example.org" in signature.found
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    assert main(["verify", str(folder), "--signature", str(other)]) == 1
    in_json("manifest.json", "model", value="another")(folder)
    run = Run.open(folder)
    run.seal(run.manifest)  # whoever alters it can make the digests anew, and not the signature
    assert main(["verify", str(folder), "--signature", f"{key}.pub"]) == 1
    assert main(["verify", str(folder), "--sign", str(key)]) == 1  # its report says another model


def test_signature_when_the_tool_is_missing_or_the_run_is_packed_then_one_sentence(
    ended, tmp_path, key, monkeypatch, capsys
):
    main(["export", str(ended), "-o", str(tmp_path / "run.msz")])
    assert main(["verify", str(tmp_path / "run.msz"), "--sign", str(key)]) == 2
    (tmp_path / "mini.key").write_text("untrusted comment: minisign encrypted secret key\nRWR=\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["verify", str(ended), "--sign", str(tmp_path / "mini.key")]) == 2
    assert "minisign is not installed" in capsys.readouterr().err


@pytest.mark.needs_program("minisign")
def test_signature_by_minisign_when_made_then_it_holds_until_something_changes(ended, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(ended, folder)
    for name in ("key", "other"):
        made = ["minisign", "-G", "-W", "-s", tmp_path / name, "-p", tmp_path / f"{name}.pub"]
        subprocess.run(made, check=True, capture_output=True)
    ask = ["verify", str(folder), "--signature", str(tmp_path / "key.pub")]
    assert main(ask) == 1  # not signed yet
    assert main(["verify", str(folder), "--sign", str(tmp_path / "key")]) == 0
    assert main(ask) == 0
    assert main([*ask[:-1], str(tmp_path / "other.pub")]) == 1
    assert main(["export", str(folder), "-o", str(tmp_path / "run.msz")]) == 0
    assert main(["verify", str(tmp_path / "run.msz"), *ask[2:]]) == 0
    in_json("manifest.json", "model", value="another")(folder)
    run = Run.open(folder)
    run.seal(run.manifest)
    assert main(ask) == 1
    (folder / "manifest.json.minisig").write_text("something else")
    assert main(ask) == 1
