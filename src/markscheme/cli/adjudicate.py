"""`markscheme adjudicate`: a person judges a random sample of a run's responses, with the keyboard and blind to the verdict."""

from __future__ import annotations

import argparse
import getpass
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from markscheme.runs.adjudications import Drawn, Label, Said
    from markscheme.runs.snapshot import Snapshot
    from markscheme.types import Question, Response

KEYS: dict[str, Said] = {"y": "right", "n": "wrong", "u": "unsure"}
SHOWN = 3_000
"""Characters of a response that are shown, from its end; `m` shows all of it."""
EVERY = 10
"""Labels after which it is said what they are worth."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The run, who judges, and how long."""
    parser.add_argument("run_folder", metavar="RUN", help="the run whose responses are judged")
    parser.add_argument("--who", metavar="NAME", help="whose opinion it is (default: the user's name)")
    parser.add_argument("--limit", type=int, metavar="N", help="stop after N responses")
    parser.add_argument("--seed", type=int, default=0, help="of the random order; it is drawn once a run (default: 0)")
    parser.add_argument("--status", action="store_true", help="only say what the labels so far are worth")


def run(args: argparse.Namespace) -> int:
    """Show, ask, keep; whenever one stops, what was said counts."""
    from markscheme.reporting.adjudicated import worth
    from markscheme.runs import Run
    from markscheme.runs.adjudications import draw_order, labels_journal, read_labels

    opened = Run.open(Path(args.run_folder))
    snapshot = opened.snapshot()
    protocol = opened.manifest.protocol.partition("@")[0]
    if args.status:
        print(worth(snapshot, protocol))
        return 0
    who = args.who or _user()
    journal = labels_journal(opened.path, who)
    order = draw_order(snapshot, args.seed)
    if not order:
        raise UsageError(f"{opened.path} has no marked response to judge")
    mine = {place for place, said in read_labels(snapshot).items() if who in said}
    waiting = [each for each in order if (each.key, each.sample) not in mine][: args.limit]
    with journal, suppress(EOFError, KeyboardInterrupt):
        _judge(snapshot, waiting, journal.write, who, lambda: worth(snapshot, protocol))
    print(f"\n{worth(snapshot, protocol)}")
    return 0


def _user() -> str:
    try:
        return re.sub(r"[^\w.-]+", "-", getpass.getuser()).strip("-.") or "me"
    except (KeyError, OSError):
        return "me"


def _judge(
    snapshot: Snapshot, waiting: list[Drawn], write: Callable[[list[Label]], None], who: str, told: Callable[[], str]
) -> None:
    """One response after the other, until there is none or the person stops. `b` goes back to the one before."""
    from markscheme.runs.adjudications import Label, content_of

    problems = {key: number for number, key in enumerate(snapshot.keys)}
    print("Is the final answer right?  y right · n wrong · u unsure · m show all · b back · q stop\n")
    at = done = 0
    while at < len(waiting):
        drawn = waiting[at]
        number = problems[drawn.key]
        row = snapshot.row(number, drawn.sample)
        question = snapshot.question(number)
        response = snapshot.response(row) if row is not None else None
        if question is None or response is None:
            at += 1
            continue
        key = _asked(question, response, f"{at + 1} of {len(waiting)}")
        if key == "q":
            return
        if key == "b":
            at = max(0, at - 1)
            continue
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write([Label(drawn.key, drawn.sample, content_of(response), KEYS[key], who, now)])
        at, done = at + 1, done + 1
        if done % EVERY == 0:
            print(f"\n{told()}\n")


def _asked(question: Question, response: Response, place: str) -> str:
    """Problem, gold and response, and the key that was pressed: one of y, n, u, b, q."""
    whole = response.text
    print(f"── {place} " + "─" * 60)
    print(f"{_plain(question.problem.statement)}\n\ngold: {_plain(_gold(question))}\n\nresponse:")
    print(_plain(f"[…]\n{whole[-SHOWN:]}" if len(whole) > SHOWN else whole))
    while True:
        print("y/n/u/m/b/q? ", end="", flush=True)
        key = _key()
        print(key)
        if key == "m":
            print(_plain(whole))
        elif key in (*KEYS, "b", "q"):
            return key


def _gold(question: Question) -> str:
    gold = question.problem.gold
    return gold if isinstance(gold, str) else f"{', '.join(map(str, gold.nums))} → {gold.target}"


def _key() -> str:
    """One key press at a terminal; elsewhere the first letter of a line."""
    if not sys.stdin.isatty():
        if not (line := sys.stdin.readline()):
            raise EOFError
        return line.strip()[:1].lower()
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        return sys.stdin.read(1).lower()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _plain(text: str) -> str:
    """Nothing in it steers the terminal."""
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)
