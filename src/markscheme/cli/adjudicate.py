"""`markscheme adjudicate`: label a random sample of a run's responses, blind to the verdict, to measure the marker's errors."""

from __future__ import annotations

import argparse
import getpass
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from markscheme.pages.terminal import gold_line
from markscheme.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from markscheme.runs.adjudications import Adjudication, Label, Opinion
    from markscheme.types import Question, Response

KEYS: dict[str, Opinion] = {"y": "right", "n": "wrong", "u": "unsure"}
SHOWN = 3_000  # characters of a response that are shown, from its end; `m` shows the whole text
EVERY = 10  # labels between two interim results


def run(args: argparse.Namespace) -> int:
    """Show a response, ask for a label, store it, and repeat until the user stops."""
    from markscheme.reporting.adjudicated import worth
    from markscheme.runs import Run
    from markscheme.runs.adjudications import Adjudication, labels_journal

    opened = Run.open(Path(args.run_folder))
    snapshot = opened.snapshot()
    protocol = opened.manifest.protocol.partition("@")[0]
    if not args.status:
        who = args.who or _user()
        journal = labels_journal(opened.path, who)
        adjudication = Adjudication(snapshot, args.seed)
        if args.page:
            _serve(adjudication, who, args)
        else:
            done = adjudication.opinions_of(who)
            waiting = [at for at in range(len(adjudication.order)) if at not in done][: args.limit]
            with journal, suppress(EOFError, KeyboardInterrupt):
                _judge(adjudication, waiting, journal.write, who, lambda: worth(snapshot, protocol))
        print()
    print(worth(snapshot, protocol))
    return 0


def _serve(adjudication: Adjudication, who: str, args: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C. Its address has a token, since other users of this machine can reach 127.0.0.1 too."""
    import secrets
    import tempfile
    import webbrowser

    from markscheme.cli.view import answer_until_stopped
    from markscheme.view.adjudicating import HOST, AdjudicationPage
    from markscheme.view.server import serve

    token = secrets.token_urlsafe(24)

    def started(address: str) -> None:
        print(f"label {args.run_folder} at {address}#{token}  (press Ctrl-C to stop)", flush=True)
        if not args.no_browser:
            # The browser reads the token from a file that only this user can open; any user can read a command line.
            way = Path(private) / "adjudicate.html"
            way.write_text(f'<meta charset="utf-8"><meta http-equiv="refresh" content="0;url={address}#{token}">')
            webbrowser.open(way.as_uri())

    async def answer(port: int) -> None:
        await serve(AdjudicationPage(adjudication, who).app(token), HOST, port, started)

    with tempfile.TemporaryDirectory(prefix="markscheme-") as private:
        answer_until_stopped(HOST, args.port, answer)


def _user() -> str:
    try:
        return re.sub(r"[^\w.-]+", "-", getpass.getuser()).strip("-.") or "me"
    except (KeyError, OSError):
        return "me"


def _judge(
    adjudication: Adjudication,
    waiting: list[int],
    write: Callable[[list[Label]], object],
    who: str,
    worth_now: Callable[[], str],
) -> None:
    """Ask about one response after the other; `b` goes back to the previous one."""
    from markscheme.runs.adjudications import content_of

    print("Is the final answer right?  y right · n wrong · u unsure · m show all · b back · q stop\n")
    at = done = 0
    while at < len(waiting):
        if (shown := adjudication.shown(waiting[at])) is None:
            at += 1
            continue
        key = _asked(*shown, f"{at + 1} of {len(waiting)}")
        if key == "q":
            return
        if key == "b":
            at = max(0, at - 1)
            continue
        write([adjudication.label(waiting[at], content_of(shown[1]), KEYS[key], who)])
        at, done = at + 1, done + 1
        if done % EVERY == 0:
            print(f"\n{worth_now()}\n")


def _asked(question: Question, response: Response, place: str) -> str:
    """Show problem, gold and response, and return the key that was pressed: y, n, u, b or q."""
    whole = response.text
    print(f"── {place} " + "─" * 60)
    print(
        f"{printable(question.problem.statement)}\n\ngold: {printable(gold_line(question.problem.gold))}\n\nresponse:"
    )
    print(printable(f"[…]\n{whole[-SHOWN:]}" if len(whole) > SHOWN else whole))
    while True:
        print("y/n/u/m/b/q? ", end="", flush=True)
        key = _key()
        print(key)
        if key == "m":
            print(printable(whole))
        elif key in (*KEYS, "b", "q"):
            return key


def _key() -> str:
    """Read one key press at a terminal; elsewhere the first letter of a line."""
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
