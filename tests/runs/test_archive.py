"""A run as one file: opened like a folder, verified, redacted; and files that only look like one."""

from __future__ import annotations

import json
import os
import shutil
import zipfile

import pytest

import markscheme as ms
from markscheme.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("archive") / "run"
    ms.run("countdown-sample", model="solver", limit=4, out=place, progress=False)
    return place


@pytest.fixture
def packed(folder, tmp_path):
    assert main(["export", str(folder), "-o", str(tmp_path / "run.msz")]) == 0
    return tmp_path / "run.msz"


def test_archive_when_opened_then_the_same_as_the_folder(folder, packed, capsys):
    assert [one.text for one in ms.load(packed).responses()] == [one.text for one in ms.load(folder).responses()]
    assert main(["verify", str(packed)]) == 0
    assert "4 of 4 are the same when recomputed" in capsys.readouterr().out
    assert main(["report", str(packed)]) == 0
    assert main(["compare", str(folder), str(packed)]) == 0
    assert main(["view", str(packed), "--export", str(packed.with_name("site"))]) == 0
    assert (packed.with_name("site") / "index.html").exists()


def test_archive_when_made_twice_then_the_same_bytes(folder, packed, tmp_path):
    main(["export", str(folder), "-o", str(tmp_path / "again.msz")])
    assert (tmp_path / "again.msz").read_bytes() == packed.read_bytes()


def test_archive_when_redacted_then_no_statement_is_in_it_and_it_verifies(folder, tmp_path):
    file = tmp_path / "redacted.msz"
    assert main(["export", str(folder), "-o", str(file), "--redact"]) == 0
    statements = [question.problem.statement for question in ms.load(folder).questions()]
    with zipfile.ZipFile(file) as archive:
        content = b"".join(map(archive.read, archive.namelist())).decode()
    assert statements
    assert not [one for one in statements if json.dumps(one)[1:-1] in content or one in content]
    assert main(["verify", str(file)]) == 0
    kept = ms.load(folder).manifest.digests["problems.jsonl"].sha256
    assert ms.load(file).manifest.redacted == kept


def test_folder_when_it_was_altered_then_it_is_not_redacted_into_a_sound_one(folder, tmp_path, capsys):
    import shutil

    shutil.copytree(folder, tmp_path / "run")
    file = tmp_path / "run" / "problems.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"target":', b'"target":1', 1))
    assert main(["export", str(tmp_path / "run"), "-o", str(tmp_path / "a.msz"), "--redact"]) == 1
    assert "no longer matches its digests" in capsys.readouterr().err
    assert not (tmp_path / "a.msz").exists()


def test_archive_when_a_response_in_it_was_altered_then_verify_says_so(packed, tmp_path):
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(tmp_path / "other.msz", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b"+", b"-", 1) if name == "responses.jsonl" else content)
    assert main(["verify", str(tmp_path / "other.msz")]) == 1


def test_archive_when_any_byte_of_it_is_damaged_then_one_sentence_or_nothing_was_lost(packed, tmp_path, capsys):
    whole = packed.read_bytes()
    for number in range(20):
        file = tmp_path / f"{number}.msz"
        at = 40 + number * (len(whole) - 50) // 20
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << number % 8]) + whole[at + 1 :])
        assert main(["verify", str(file), "--workers", "1"]) in (0, 1)
        assert "Traceback" not in capsys.readouterr().err


HOSTILE = [
    "../out.jsonl",
    "/etc/out.json",
    "marks/../../out.jsonl",
    "lock",
    "marks/a/b.jsonl",
    "report.json/../x.json",
    "run.py",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_archive_when_it_holds_another_name_then_one_sentence_and_nothing_is_written(tmp_path, capsys, name):
    with zipfile.ZipFile(tmp_path / "evil.msz", "w") as archive:
        archive.writestr("manifest.json", "{}")
        archive.writestr(name, "x")
    assert main(["report", str(tmp_path / "evil.msz")]) == 1
    assert "is not a file of a run" in capsys.readouterr().err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["evil.msz"]


@pytest.mark.parametrize("kind", ["bomb", "no zip", "cut", "absent", "empty"])
def test_archive_when_it_is_not_one_of_ours_then_one_sentence(packed, tmp_path, capsys, kind):
    file = tmp_path / "evil.msz"
    if kind in ("bomb", "empty"):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            if kind == "bomb":
                archive.writestr("responses.jsonl", bytes(100 << 20))
    elif kind != "absent":
        file.write_bytes(b"no zip" if kind == "no zip" else packed.read_bytes()[:-200])
    assert main(["report", str(file)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize("redact", [(), ("--redact",)])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_folder_when_a_file_of_it_is_a_link_out_or_a_pipe_then_nothing_is_packed(
    folder, tmp_path, capsys, kind, redact
):
    copy, secret = tmp_path / "copy", tmp_path / "secret"
    shutil.copytree(folder, copy)
    secret.write_bytes((copy / "responses.jsonl").read_bytes())
    (copy / "responses.jsonl").unlink()
    if kind == "link":
        (copy / "responses.jsonl").symlink_to(secret)
    else:
        os.mkfifo(copy / "responses.jsonl")
    assert main(["export", str(copy), "-o", str(tmp_path / "run.msz"), *redact]) != 0
    assert not (tmp_path / "run.msz").exists()
    assert "Traceback" not in capsys.readouterr().err
