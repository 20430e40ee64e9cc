"""People's judgements of responses: `adjudications/order.jsonl` and one file of labels per person. Labels are facts.

`order.jsonl` lists every response in a random order within its stratum, alternating between strata. Everybody judges in
that order, so what has been judged of a stratum is always a random sample of it. A stratum is the marker's verdict and
whether it is doubtful (open, or protocols differ); long and short responses alternate. Responses that arrive later form
new strata. A label is valid only for the text it was given for.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from markscheme.errors import JournalError, UsageError, option, os_reason
from markscheme.runs.columns import CORRECT, UNMARKED
from markscheme.runs.folder import write_atomically
from markscheme.runs.journal import Journal
from markscheme.runs.lines import read_all
from markscheme.runs.settling import OPEN, differing
from markscheme.runs.snapshot import Snapshot
from markscheme.types import Question, Response

FOLDER, ORDER = "adjudications", "order.jsonl"
Place = tuple[str, int]  # a problem's key and a sample
Opinion = Literal["right", "wrong", "unsure"]


class Drawn(msgspec.Struct, frozen=True):
    """One line of `order.jsonl`."""

    key: str
    sample: int
    stratum: str


class Label(msgspec.Struct, frozen=True):
    """One person's judgement of one response."""

    key: str
    sample: int
    content: str  # hash of the judged text (`content_of`)
    label: Opinion
    who: str
    when: str


def content_of(response: Response) -> str:
    """Return a hash of the text that a person is shown."""
    return hashlib.sha256(response.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_order(folder: Path) -> list[Drawn]:
    """Return the responses of a run in the order in which people see them."""
    return list(read_all(folder / FOLDER / ORDER, Drawn))


def draw_order(snapshot: Snapshot, seed: int = 0) -> list[Drawn]:
    """Return the stored order, after adding the responses that it lacks."""
    assert snapshot.manifest is not None
    order = read_order(snapshot.folder)
    known = {(each.key, each.sample) for each in order}
    verdict = snapshot.verdict(snapshot.manifest.protocol.partition("@")[0])
    doubtful = np.isin(verdict, OPEN) | differing(snapshot.verdicts.values(), len(snapshot))
    size = snapshot.rows["size"]
    batch = len({each.stratum.partition(":")[0] for each in order}) + 1
    strata: dict[str, list[tuple[Place, int]]] = {}
    for row in np.flatnonzero(snapshot.arrived & ~snapshot.failed & (verdict != UNMARKED)).tolist():
        place = (snapshot.keys[snapshot.problem[row]], int(snapshot.sample[row]))
        if place not in known:
            marked = "correct" if verdict[row] == CORRECT else "not correct"
            stratum = f"{batch}:{marked}, {'doubtful' if doubtful[row] else 'plain'}"
            strata.setdefault(stratum, []).append((place, int(size[row])))
    if not strata:
        return order
    positions: list[tuple[float, Drawn]] = []
    for stratum, members in strata.items():
        luck = random.Random(f"{seed} {stratum}")
        # The square root judges small strata, where errors are likelier, more densely than large ones.
        pace = len(members) ** 0.5 * (2 if stratum.endswith("doubtful") else 1)
        start = luck.random()
        for number, place in enumerate(_shuffled(members, luck)):
            positions.append(((number + start) / pace, Drawn(*place, stratum)))
    order += [drawn for _, drawn in sorted(positions, key=lambda each: each[0])]
    (snapshot.folder / FOLDER).mkdir(exist_ok=True)
    write_atomically(snapshot.folder / FOLDER / ORDER, (msgspec.json.encode(each) + b"\n" for each in order))
    return order


def _shuffled(members: list[tuple[Place, int]], luck: random.Random) -> list[Place]:
    """Return a random order that alternates between the shorter and the longer half."""
    by_size = [place for place, _ in sorted(members, key=lambda each: (each[1], each[0]))]
    halves = [by_size[: len(by_size) // 2], by_size[len(by_size) // 2 :]]
    for half in halves:
        luck.shuffle(half)
    odd = [halves[1].pop()] if len(by_size) % 2 else []
    pairs = [luck.sample(pair, 2) for pair in zip(*halves, strict=True)]
    flat = [place for pair in pairs for place in pair]
    for place in odd:
        flat.insert(luck.randrange(len(flat) + 1), place)
    return flat


def labels_journal(folder: Path, who: str) -> Journal:
    """Return the journal of one person's labels."""
    if not re.fullmatch(r"[\w-][\w.@-]{0,40}", who):
        raise UsageError(f"{option('who')} takes a name of at most 41 letters, digits, dots and dashes, not {who!r}")
    try:
        (folder / FOLDER).mkdir(exist_ok=True)
    except OSError as error:
        raise JournalError(f"cannot create {folder / FOLDER}: {os_reason(error)}") from None
    return Journal(folder / FOLDER / f"labels.{who}.jsonl")


def read_labels(snapshot: Snapshot) -> dict[Place, dict[str, Opinion]]:
    """Return each person's last label of each response, if the response still has the same text."""
    given: dict[Place, dict[str, Label]] = {}
    for file in sorted((snapshot.folder / FOLDER).glob("labels.*.jsonl")):
        for label in read_all(file, Label):
            given.setdefault((label.key, label.sample), {})[label.who] = label
    counted: dict[Place, dict[str, Opinion]] = {}
    for (key, sample), people in given.items():
        row = snapshot.row(key, sample)
        response = snapshot.response(row) if row is not None else None
        content = content_of(response) if response is not None and response.error is None else None
        if opinions := {who: label.label for who, label in people.items() if label.content == content}:
            counted[key, sample] = opinions
    return counted


class Adjudication:
    """A run's responses in the order in which people see them, for the terminal and the page."""

    def __init__(self, snapshot: Snapshot, seed: int = 0) -> None:
        self.snapshot = snapshot
        self.order = draw_order(snapshot, seed)
        if not self.order:
            raise UsageError(f"{snapshot.folder} has no marked response to judge")

    def shown(self, at: int) -> tuple[Question, Response] | None:
        """Return the question and response at a place of the order; None if they are gone."""
        if not 0 <= at < len(self.order):
            return None
        row = self.snapshot.row(self.order[at].key, self.order[at].sample)
        if row is None:
            return None
        question, response = self.snapshot.question(int(self.snapshot.problem[row])), self.snapshot.response(row)
        return (question, response) if question is not None and response is not None else None

    def opinions_of(self, who: str) -> dict[int, Opinion]:
        """Return one person's opinions by place in the order."""
        labels = read_labels(self.snapshot)
        given = ((at, labels.get((each.key, each.sample), {}).get(who)) for at, each in enumerate(self.order))
        return {at: label for at, label in given if label is not None}

    def label(self, at: int, content: str, label: Opinion, who: str) -> Label:
        """Return a label for the text with this content hash."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Label(self.order[at].key, self.order[at].sample, content, label, who, now)


def consensus(people: dict[str, Opinion]) -> Opinion:
    """Return the majority opinion of those who are sure; `unsure` if they are divided."""
    votes = Counter(label for label in people.values() if label != "unsure")
    if votes["right"] == votes["wrong"]:
        return "unsure"
    return "right" if votes["right"] > votes["wrong"] else "wrong"
