"""`markscheme doors`: what a person has who has only the package."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from loopback import Loopback, Plan

from markscheme.cli import main
from markscheme.plugins.doors.copying import DOORS, FILES

ROOT = Path(__file__).parents[2]


class Contract(Plan):
    def encode(self, text, model):
        return json.dumps({"answer": text}).encode()


def test_copy_when_evaluate_is_typed_in_the_new_folder_then_its_placeholders_are_asked(door, tmp_path):
    assert main(["doors", "copy", "evaluate", str(tmp_path / "here")]) == 0
    with Loopback(Contract(answer=lambda body: r"\boxed{6}"), keep=True) as server:
        url = server.url.removesuffix("/v1") + "/generate"
        done = door("python3", "evaluate.py", "--server-url", url, cwd=tmp_path / "here")
        assert len(server.seen) == 15
    assert "=== Macro Average" in done.stdout


@pytest.mark.parametrize("name", DOORS)
def test_copy_when_a_file_is_there_then_refused_unless_it_is_the_same_or_shall_be_replaced(name, tmp_path, capsys):
    assert main(["doors", "copy", name, str(tmp_path)]) == 0
    written = [Path(line) for line in capsys.readouterr().out.splitlines()[:-1]]
    assert written
    assert all(file.read_bytes() == (FILES / file.relative_to(tmp_path)).read_bytes() for file in written)
    assert main(["doors", "copy", name, str(tmp_path)]) == 0  # the same again is nothing to complain of
    written[-1].write_text("mine")
    for gone in written[:-1][:1]:
        gone.unlink()
    capsys.readouterr()
    assert main(["doors", "copy", name, str(tmp_path)]) == 2
    assert f"{written[-1]} is there already" in capsys.readouterr().err
    assert written[-1].read_text() == "mine"
    assert len(written) == 1 or not written[0].exists()  # nothing at all was written
    assert main(["doors", "copy", name, str(tmp_path), "--replace"]) == 0
    assert written[-1].with_name(f"{written[-1].name}.before").read_text() == "mine"
    assert written[-1].read_text() != "mine"


def test_wheel_when_built_then_holds_every_door(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (file,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(file).namelist()
    for path in (path for each in DOORS.values() for path in each.paths):
        assert any(name.startswith(f"markscheme/plugins/doors/files/{path}") for name in names), path


def test_readme_when_its_first_screen_is_read_then_each_of_the_five_lines_works(tmp_path, monkeypatch, capsys):
    screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:45])
    typed = re.findall(r"^\| .* \| `markscheme (doors copy (\S+) \S+?(?: --replace)?)`", screen, re.MULTILINE)
    assert [name for _, name in typed] == list(DOORS)
    monkeypatch.chdir(tmp_path)
    for words, name in typed:
        assert main(words.split()) == 0
        assert DOORS[name].command in capsys.readouterr().out


def test_copy_when_into_a_nanochat_checkout_then_its_own_tasks_go_to_the_script_that_was_replaced(door, tmp_path):
    own = tmp_path / "scripts" / "chat_eval.py"
    own.parent.mkdir()
    own.write_text("import sys\nprint('nanochat itself:', *sys.argv[1:])\n")
    assert main(["doors", "copy", "nanochat", str(tmp_path), "--replace"]) == 0
    typed = ("python", "-m", "scripts.chat_eval", "-i", "sft")
    assert "nanochat itself: -i sft -a ARC-Easy|MMLU --new-flag" in door(
        *typed, "-a", "ARC-Easy|MMLU", "--new-flag", cwd=tmp_path
    ).stdout  # fmt: skip
    assert "without these tasks" in door(*typed, "-a", "ARC-Easy|AIME-2024", cwd=tmp_path, code=2).stderr
