"""The notebooks of the documentation run from top to bottom, in a kernel of their own and an empty folder."""

import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
# What a notebook needs beside the tests' own packages.
NEEDED = {"reward": ("trl", "torch", "transformers", "datasets", "accelerate")}

PARAMETERS = [
    pytest.param(file, id=file.stem, marks=pytest.mark.needs(*NEEDED.get(file.stem, ("nbclient",))))
    for file in NOTEBOOKS
]


@pytest.mark.parametrize("file", PARAMETERS)
def test_notebook_when_run_then_every_cell_works(file, tmp_path, monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    source = str(ROOT / "src")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")])))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(kernel(tmp_path)))
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:  # every cell as it stands, on fewer problems: the model in the box takes its time
        cell.source = re.sub(r"(\blimit(?:=|\": ))\d+", r"\g<1>8", cell.source)
    NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("data" in output for output in shown)
    assert not any(output.get("name") == "stderr" and "Traceback" in output["text"] for output in shown)


def kernel(folder: Path) -> Path:
    """A kernel that is this interpreter, whatever is installed for the user."""
    place = folder / "jupyter" / "kernels" / "python3"
    place.mkdir(parents=True)
    command = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (place / "kernel.json").write_text(f'{{"argv": {command}, "display_name": "Python 3", "language": "python"}}')
    return folder / "jupyter"


def test_notebooks_when_counted_then_the_five_jobs_are_there():
    assert {file.stem for file in NOTEBOOKS} == {"evaluate", "compare", "audit", "own_benchmark", "reward"}
