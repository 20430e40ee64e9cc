"""`markscheme verify`: recompute the digests, marks and report of a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from markscheme.errors import JournalError, MarkschemeError, UsageError, command
from markscheme.marking import get_protocol
from markscheme.pages.frames import Columns, Result, Rows
from markscheme.pages.parts import Part
from markscheme.prompts import prompts_sha256
from markscheme.reporting.summary import Summary, summarize
from markscheme.runs.archive import origin
from markscheme.runs.digests import MOST_NAMED, differences, uncovered
from markscheme.runs.files import file_sizes, read_inside
from markscheme.runs.folder import Run
from markscheme.runs.judging import judge_all, source_to_give
from markscheme.runs.ledger import ledger
from markscheme.runs.lines import UNREADABLE
from markscheme.runs.signing import signatures, signer
from markscheme.runs.snapshot import Snapshot
from markscheme.runs.usage import Ledger, Usage
from markscheme.types import Mark, content_key

LARGEST_REPORT = 64 << 20
# Fields that depend on the folder, so that a copied folder keeps its report.
NOT_FIGURES = ("run", "warnings", "files")


class Check(msgspec.Struct, frozen=True):
    """One check. `holds` is None if it could not be made, which is not a failure."""

    what: str
    holds: bool | None
    found: str


class Verified(msgspec.Struct, frozen=True):
    """The checks of one run folder."""

    run: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """True if no check failed."""
        return all(each.holds is not False for each in self.checks)


def verify_run(run: Run, workers: int | None = None, keys: Path | None = None) -> Verified:
    """Recompute the digests, the marks and the report; with `keys`, check the signature."""
    checks = [_unaltered(run), *_signed(run, keys)]
    try:
        snapshot = run.snapshot()
        checks += [*_whole(snapshot), _consistent(snapshot)]
        checks += [_marks(snapshot, name, workers) for name in snapshot.protocols]
        checks.append(_report(run))
    except MarkschemeError as problem:
        checks.append(Check("readable", False, str(problem)))
    if (run.path / "adjudications").exists():
        checks.append(Check("labels of people", None, "given after the end of the run, so no digest covers them"))
    if others := uncovered(run.path):
        checks.append(
            Check("other files", None, f"not part of a run, and not checked: {', '.join(others[:MOST_NAMED])}")
        )
    return Verified(str(origin(run.path)), tuple(checks))


def _unaltered(run: Run) -> Check:
    manifest = run.manifest
    if not manifest.digests and not manifest.settings_sha256:
        return Check("unaltered", False, "no digests recorded, so nothing shows whether it was altered")
    if manifest.status == "running":
        return Check("unaltered", False, f"the run has not ended; {command('resume', run.path)} finishes it")
    found = differences(run.path, manifest)
    return Check("unaltered", not found, "\n".join(found) or f"{len(manifest.digests)} files and the manifest")


def _signed(run: Run, keys: Path | None) -> Iterator[Check]:
    if keys is not None:
        try:
            yield Check("signature", True, signer(run.path, keys))
        except JournalError as problem:
            yield Check("signature", False, str(problem))
    elif kinds := signatures(run.path):
        yield Check(
            "signature", None, f"signed with {' and '.join(kinds)}; --signature FILE checks it with a public key"
        )


def _whole(snapshot: Snapshot) -> Iterator[Check]:
    if count := snapshot.damaged + len(snapshot.torn) + snapshot.stray:
        names = ", ".join(dict.fromkeys([*snapshot.damage, *snapshot.torn])) or "responses"
        yield Check(
            "lines read", False, f"{count} lines are damaged or belong to problems that the run does not have: {names}"
        )


def _consistent(snapshot: Snapshot) -> Check:
    """Compare the manifest and `usage.json` with the lines."""
    manifest = snapshot.manifest
    assert manifest is not None
    questions, totals = snapshot.questions(), snapshot.counts(manifest.protocol).totals()
    said = {
        "problems": (manifest.problems, len(questions)),
        "counts": (manifest.counts, totals),
        "usage": (_tokens(manifest.usage), _tokens(ledger(snapshot).total)),
        "usage.json": (_stored_usage(snapshot), _tokens(ledger(snapshot).total)),
    }
    other = [name for name, (stored, made) in said.items() if stored is not None and stored != made]
    if not manifest.redacted:
        prompts = prompts_sha256(question.prompt for question in questions)
        other += ["prompts"] * (manifest.prompt_sha256 not in (prompts, ""))
        keys = [(each.key, content_key(each.statement, each.gold)) for each in (one.problem for one in questions)]
        other += [f"statement or gold of {key}" for key, made in keys if key.partition("-")[0] != made][:MOST_NAMED]
    return Check(
        "manifest", not other, f"does not match the lines: {', '.join(other)}" if other else "matches the lines"
    )


def _stored_usage(snapshot: Snapshot) -> dict[str, Any] | None:
    try:
        raw = read_inside(snapshot.folder / "usage.json", snapshot.folder.resolve(), LARGEST_REPORT)
        return _tokens(msgspec.json.decode(raw, type=Ledger).total)
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE):
        return {}


def _tokens(usage: Usage | None) -> dict[str, Any] | None:
    """Return what responses used, without cost, which depends on prices that are not stored."""
    used = msgspec.to_builtins(usage) if usage is not None else None
    return {name: value for name, value in used.items() if name not in ("cost", "price")} if used else None


def _marks(snapshot: Snapshot, name: str, workers: int | None) -> Check:
    label = snapshot.label_of(name)
    what = f"marks of {label}"
    if name.startswith("judge:"):
        return Check(what, None, "the opinions of a model cannot be recomputed; its replies are in judges/")
    try:
        rule = get_protocol(name)
    except UsageError:
        if snapshot.manifest is not None and (needed := source_to_give(snapshot.manifest, name)):
            return Check(what, None, f"not recomputed: {needed}")
        return Check(what, None, "not a protocol of this version, so they cannot be recomputed")
    if rule.label != label:
        held = "the file" if rule.source else "this version"
        return Check(what, None, f"{held} has {rule.label}, so they cannot be recomputed")
    problems = {question.problem.key: question.problem for question in snapshot.questions()}
    stored = {(mark.key, mark.sample): mark for mark in snapshot.marks(label)}
    pairs = ((response, problems[response.key]) for response in snapshot.responses())
    same, other = 0, []
    for mark in judge_all(pairs, rule.name, workers=workers):
        there = stored.pop((mark.key, mark.sample), None)
        if there == mark:
            same += 1
        else:
            other.append(f"{mark.key} sample {mark.sample}: {_shown(there)}, recomputed {_shown(mark)}")
    total = same + len(other)
    # Some marks depend on the statement.
    hidden = bool(other) and bool(snapshot.manifest and snapshot.manifest.redacted)
    return Check(
        what,
        None if hidden else not other,
        "\n".join([f"{same} of {total} are the same when recomputed", *other[:MOST_NAMED]]),
    )


def _shown(mark: Mark | None) -> str:
    return "no mark" if mark is None else f"{mark.verdict} ({mark.answer!s:.40})"


def _report(run: Run) -> Check:
    try:
        stored = msgspec.json.decode(read_inside(run.path / "report.json", run.path.resolve(), LARGEST_REPORT))
        made = msgspec.to_builtins(summarize(run, stored["protocol"]))
    except FileNotFoundError:
        return Check("report", None, "no report.json")
    except (OSError, KeyError, TypeError, *UNREADABLE):
        return Check("report", False, "report.json cannot be read")
    if stored.get("files") != file_sizes(run.path, run.manifest.protocol):
        return Check("report", None, "report.json is older than the last marks or responses")
    names = [name for name in Summary.__struct_fields__ if name not in NOT_FIGURES]
    made = msgspec.json.decode(msgspec.json.encode(made))
    if (stored.get("errata") or {}).get("sha256") != (made.get("errata") or {}).get("sha256"):
        names.remove("errata")  # other errata are known now
    if (run.path / "adjudications").exists():
        names.remove("corrected")  # people's labels are given after the run, and no digest covers them
    differing = [name for name in names if name in stored and stored[name] != made.get(name)]
    return Check(
        "report", not differing, f"different {', '.join(differing)}" if differing else "the same when recomputed"
    )


class Verification(Result, list[Verified]):
    """What was checked of each run."""

    _COLUMNS: ClassVar[Columns] = dict.fromkeys(("run", "what", "result", "found"), str)

    def __init__(self, verified: Iterable[Verified], *, signed: bool) -> None:
        super().__init__(verified)
        self._signed = signed

    @property
    def exit_code(self) -> int:
        """1 if anything does not hold."""
        return int(not all(each.holds for each in self))

    def rows(self) -> Rows:
        """Return one record per check."""
        words = {True: "holds", False: "does not hold", None: "–"}
        return [
            {"run": each.run, "what": one.what, "result": words[one.holds], "found": one.found}
            for each in self
            for one in each.checks
        ]

    def content(self) -> list[Verified]:
        """Return what `verify --json` prints."""
        return [*self]

    def page(self) -> Iterator[Part]:
        """Yield a table of checks for each run."""
        for run, rows in groupby(self.rows(), key=itemgetter("run")):
            yield Part("title", run)
            yield Part("table", [{"": row["what"], "result": row["result"], "found": row["found"]} for row in rows])
        if self._signed:
            yield Part("text", f"signed: {', '.join(each.run for each in self)}")
