"""What the site has that docs/ has not: the README as its first page, the notebooks as pages, the Python reference.

The pages in docs/ are written to be read on GitHub too, so they link to files beside docs/; those come along.
"""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Containerfile", "constraints.txt")

REFERENCE = {
    "Commands as functions": [
        *(f"markscheme.api.asking.{name}" for name in (
            "run", "run_async", "experiment", "experiment_async", "dry_run", "resume", "resume_async", "judge", "judge_async",
        )),
        *(f"markscheme.api.reports.{name}" for name in (
            "load", "report", "compare", "gate", "audit", "benchmark_the_graders", "reproduce", "adjudicate", "plan",
            "series", "verify", "errata", "suspects",
        )),
        *(f"markscheme.api.exchange.{name}" for name in (
            "list_benchmarks", "list_protocols", "list_models", "show", "push", "export", "import_log",
        )),
    ],
    "Marking": ["markscheme.marking.mark", "markscheme.marking.explain", "markscheme.marking.equality.equal"],
    "Training": [
        "markscheme.rewards", *(f"markscheme.api.rewarding.{name}" for name in ("attack", "audit_rollouts", "select")),
        "markscheme.rewards.environment.load_environment",
    ],
    "What comes back": [
        "markscheme.api.run.Run", "markscheme.api.run.Answer", "markscheme.api.asking.Experiment",
        *("markscheme.reporting.report.Report", "markscheme.reporting.comparison.Comparison"),
        "markscheme.reporting.planning.Plan",
        *("markscheme.marking.bulk.audit.Audit", "markscheme.marking.bulk.graders.Graders"),
        *(f"markscheme.api.opinions.{name}" for name in ("Opinions", "Adjudication")),
        "markscheme.pages.frames.Listing", "markscheme.pages.frames.Frames",
    ],
    "Data, benchmarks, puzzles": [
        "markscheme.api.data", "markscheme.benchmarks.benchmark", "markscheme.benchmarks.Benchmark", "markscheme.countdown",
    ],
    "The nouns": [f"markscheme.types.{name}" for name in ("Problem", "Prompt", "Response", "Mark", "Verdict")],
    "Options of a run": ["markscheme.config.RunConfig"],
    "Estimators": ["markscheme.statistics.pass_at_k"],
    "Errors": ["markscheme.errors"],
}  # fmt: skip


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    pages = {"index.md": (ROOT / "README.md").read_text(), "reference.md": reference()}
    for name in BESIDE:
        pages[name] = (ROOT / name).read_text()
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        pages[f"notebooks/{notebook.stem}.md"] = as_markdown(json.loads(notebook.read_text()))
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links as they are on the site: without `docs/` or the way out of it, notebooks as pages, folders as their README."""
    depth = page.file.src_uri.count("/")
    if page.file.src_uri in ("index.md", *BESIDE):
        markdown = re.sub(r"\]\(docs/", "](", markdown)
    outside = "../" * (depth + 1)
    markdown = markdown.replace(f"]({outside}", f"]({'../' * depth}")
    markdown = re.sub(r"\]\(([\w./-]*notebooks/\w+)\.ipynb\)", r"](\1.md)", markdown)
    markdown = markdown.replace("](notebooks)", "](notebooks/evaluate.md)")
    return re.sub(r"\]\((protocols|performance)/?\)", r"](\1/README.md)", markdown)


def reference() -> str:
    """The public names, each with its docstring."""
    parts = [
        "# Python reference\n\n`import markscheme as ms` offers these by their short names: `ms.run`, `ms.Run` …\n"
    ]
    for title, names in REFERENCE.items():
        parts += [f"## {title}\n", *(f"::: {name}\n" for name in names)]
    return "\n".join(parts)


def as_markdown(notebook: dict) -> str:
    """The cells in order; the tests run them."""
    fences = {"markdown": "{}", "code": "```python\n{}\n```"}
    return "\n\n".join(fences[cell["cell_type"]].format("".join(cell["source"])) for cell in notebook["cells"])
