"""`markscheme verify`: check that a run was not altered and that its marks and report can be reproduced."""

from __future__ import annotations

import argparse

from markscheme.api.page import Part
from markscheme.cli import complain
from markscheme.cli.page import call, show

WORDS = {True: "holds", False: "does not hold", None: "–"}


def run(args: argparse.Namespace) -> int:
    from markscheme.api.reports import verify

    verified = call(verify, args)
    if args.sign:
        complain(f"signed {', '.join(args.runs)}")
    parts = []
    for each in verified:
        rows = [{"": one.what, "result": WORDS[one.holds], "found": one.found} for one in each.checks]
        parts += [Part("title", each.run), Part("table", rows)]
    show(args, verified, parts)
    return 0 if all(each.holds for each in verified) else 1
