"""Benchmarks for the plug-ins: at hand, packaged, or fetched."""

import shutil
from types import SimpleNamespace

import pytest

from markscheme.errors import DataError
from markscheme.plugins.data import ready
from markscheme.plugins.lm_eval import TASKS, link_tasks


def test_link_when_asked_for_then_the_task_files_lie_among_lm_evals_own_or_a_sentence_says_what_else_works(
    tmp_path, monkeypatch
):
    tasks = SimpleNamespace(__file__=str(tmp_path / "tasks" / "__init__.py"))
    monkeypatch.setattr("markscheme.plugins.lm_eval.needed", lambda *_: tasks)
    for _ in range(2):  # again is as good
        assert link_tasks() == tmp_path / "tasks" / "markscheme"
    assert {file.name for file in TASKS.iterdir()} == {file.name for file in link_tasks().iterdir()}
    tasks.__file__ = str(tmp_path / "a file" / "__init__.py")
    (tmp_path / "a file").write_text("")
    with pytest.raises(DataError, match=r"cannot write to .*--include_path"):
        link_tasks()


def test_ready_when_the_files_are_there_then_nothing_is_fetched(real_data, monkeypatch):
    monkeypatch.setattr("markscheme.datasets.prepare.prepare", lambda *_: pytest.fail("fetched"))
    assert len(ready("gsm8k", real_data).problems) == 1319
    assert len(ready("countdown", real_data).problems) == 1000  # a stand-in is as good


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("countdown", "countdown-sample"),
        ("gsm8k", "gsm8k-sample"),
        ("math500", "math-sample"),
        ("aime-2025-I", "aime-sample"),
    ],
)
def test_ready_when_a_sample_is_asked_for_then_the_packaged_set_of_the_same_kind(name, sample):
    assert ready(name, sample=True).name == sample


def test_ready_when_a_file_is_missing_then_its_data_set_is_fetched_first(real_data, monkeypatch, tmp_path):
    fetched = []

    def fetch(missing, folder, examine):
        fetched.append(([source.file for source in missing], folder))
        shutil.copytree(real_data / "gsm8k", folder / "gsm8k", dirs_exist_ok=True)

    monkeypatch.setattr("markscheme.datasets.prepare.prepare", fetch)
    assert len(ready("gsm8k", tmp_path).problems) == 1319
    assert fetched == [(["gsm8k/test.jsonl", "gsm8k/train.jsonl"], tmp_path)]


@pytest.mark.needs("huggingface_hub")
def test_ready_when_there_is_no_network_then_one_sentence_about_the_source(monkeypatch, tmp_path):
    import huggingface_hub.constants  # noqa: F401 - it reads its settings once: they must not stay for other tests

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match="MATH-500"):
        ready("math500", tmp_path)


def test_ready_when_a_file_is_damaged_then_it_is_not_fetched_over(monkeypatch, tmp_path):
    monkeypatch.setattr("markscheme.datasets.prepare.prepare", lambda *_: pytest.fail("fetched"))
    (tmp_path / "math500").mkdir()
    (tmp_path / "math500" / "test.jsonl").write_text("{\n")
    with pytest.raises(DataError, match="line 1"):
        list(ready("math500", tmp_path).problems)
