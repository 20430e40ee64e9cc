"""What is installed and what others run: the wheel, the example that guards a score, the citation."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import markscheme

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*build, str(folder), str(ROOT)], check=True)
    (file,) = folder.glob("markscheme-*.whl")
    zipfile.ZipFile(file).extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.mark.needs("hatchling")
def test_wheel_when_built_then_holds_every_file_of_the_package(wheel):
    package = ROOT / "src" / "markscheme"
    kept = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    packed = {str(path.relative_to(wheel / "markscheme")) for path in (wheel / "markscheme").rglob("*")}
    assert {name for name in kept if "__pycache__" not in name} <= packed


@pytest.mark.needs("hatchling")
def test_wheel_when_it_is_all_there_is_then_the_main_job_works(wheel, tmp_path):
    command = [
        sys.executable,
        "-m",
        "markscheme",
        "run",
        "countdown-sample",
        "--model",
        "nano",
        "--limit",
        "3",
        "--out",
        "run",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(wheel)}
    )
    assert done.returncode == 0, done.stderr
    code = "import markscheme; print(markscheme.__file__)"
    where = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(wheel)}, check=True,
    )  # fmt: skip
    assert str(wheel) in where.stdout


def test_version_when_it_is_told_then_everywhere_the_same():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert project == markscheme.__version__ == citation[1]


def test_container_file_when_it_copies_then_the_files_are_there():
    text = (ROOT / "Containerfile").read_text()
    copied = [name for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE) for name in line.split()[:-1]]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    assert re.search(r"^USER [1-9]", text, re.MULTILINE)


BROKEN = "Use the numbers 2, 3, 4 to reach the target 24?\n{statement}\nAnswer:"  # asks something else


@pytest.fixture
def repository(tmp_path):
    """A repository with a prompt on its base branch."""
    from markscheme.benchmarks import benchmark

    templates = benchmark("countdown-sample").templates
    work = tmp_path / "work"
    (work / "prompts").mkdir(parents=True)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=work, check=True)
    (work / "prompts" / "countdown.txt").write_text(templates["plain"].user)
    subprocess.run([*git, "add", "."], cwd=work, check=True)
    subprocess.run([*git, "commit", "-q", "-m", "base"], cwd=work, check=True)
    subprocess.run([*git, "update-ref", "refs/remotes/origin/main", "main"], cwd=work, check=True)
    return work


@pytest.mark.needs("yaml")
@pytest.mark.parametrize("worse", [False, True])
def test_score_gate_when_a_pull_request_breaks_the_prompt_then_it_fails(repository, worse, tmp_path, programs):
    import yaml

    workflow = yaml.safe_load((ROOT / "docs" / "examples" / "score-gate.yml").read_text())
    environment = {**os.environ, **workflow["env"], "PATH": f"{programs}:{os.environ['PATH']}"}
    environment |= {"GITHUB_BASE_REF": "main", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    environment["OPTIONS"] = "-n 1 --limit 12"
    if worse:
        (repository / "prompts" / "countdown.txt").write_text(BROKEN)
    steps = [step for step in workflow["jobs"]["score"]["steps"] if "run" in step and step["name"] != "install"]
    ended = [
        subprocess.run(["bash", "-e", "-c", step["run"]], cwd=repository, env=environment, capture_output=True)
        for step in steps
    ]
    assert [each.returncode for each in ended] == [0, 0, 4 if worse else 0], ended[-1].stderr
    assert "B − A" in (tmp_path / "summary.md").read_text()
    assert (repository / "comparison.json").read_text().startswith("{")
