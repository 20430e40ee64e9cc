"""Published tables made again from stored outputs: every claim in perf/claims, over checkouts of the repositories.

    python perf/reproduce.py DIR [CLAIM...] [--no-page]

DIR holds a checkout of each repository that a claim names, as `owner+name`, `owner/name` or `name`. Writes
docs/performance/reproduced.md, unless only some claims are named. The exit code is 1 if a row differs from what its claim
expects: a claim that cannot be reproduced says why in its `note`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import markscheme as ms
from markscheme.marking.bulk.claims import load_claim
from markscheme.marking.bulk.reproducing import Reproduction
from markscheme.pages.forms import markdown_table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance" / "reproduced.md"
HEAD = """# Published tables, recomputed

Written by `python perf/reproduce.py DIR` from checkouts of the repositories named below; the claims are in `perf/claims`. Figures
are in percent. "By stored verdict" uses what the repository stored of each response: the verdict, or the extracted answer, compared
the way its authors compared it. "By published rule" applies the protocol that the authors name. "By math" is this package's own
reading with its 95 % interval. "Reproduced" means to the last printed digit, by the stored verdict or the published rule. [Check a
published score](../claims.md) explains how to do the same with any table.

{total}
"""


def main() -> int:
    """Make every table again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="names in perf/claims (default: all)")
    parser.add_argument("--no-page", action="store_true", help="print, and leave the page as it is")
    args = parser.parse_args()
    files = sorted((ROOT / "perf" / "claims").glob("*.toml"))
    chosen = [file for file in files if not args.claims or file.stem in args.claims]
    made = []
    for file in chosen:
        root = checkout(args.folder, load_claim(file).repository)
        if root is None:
            print(f"{file.stem}: no checkout of {load_claim(file).repository} in {args.folder}", file=sys.stderr)
            return 1
        began = time.monotonic()
        made.append(ms.reproduce(file, root=root))
        good = sum(row.reproduced for row in made[-1].rows)
        print(f"{file.stem}: {good} of {len(made[-1].rows)} reproduced, {time.monotonic() - began:.0f} s", flush=True)
    text = page(made)
    if args.no_page or args.claims:
        print(text)
    else:
        PAGE.write_text(text)
    unexplained = [row.name for each in made for row in each.rows if not (row.reproduced or row.note or each.note)]
    if unexplained:
        print(f"not reproduced, and no note says why: {', '.join(unexplained)}", file=sys.stderr)
    return 1 if unexplained else 0


def checkout(folder: Path, repository: str) -> Path | None:
    """The checkout of a repository, under any of its usual names."""
    owner, _, name = repository.partition("/")
    places = (folder / f"{owner}+{name}", folder / owner / name, folder / name)
    return next((place for place in places if place.is_dir()), None)


def page(made: list[Reproduction]) -> str:
    """The tables with the account of every row that has one."""
    rows = [row for each in made for row in each.rows]
    good, samples = sum(row.reproduced for row in rows), sum(row.samples for row in rows)
    repositories = len({each.repository for each in made})
    total = (
        f"{good} of {len(rows)} published figures in {len(made)} tables of {repositories} repositories are reproduced, from "
        f"{samples:,} stored responses. `math` and the authors' verdict differ on "
        f"{sum(kind.samples for row in rows for kind in row.differing if 'math' in kind.kind):,} of them."
    )
    lines = [HEAD.format(total=total)]
    for each in made:
        lines += [f"## {each.title}", "", f"{each.source}.", "", *markdown_table([row.row() for row in each.rows]), ""]
        lines += [each.note, ""] if each.note else []
        for row in each.rows:
            if reasons := row.account():
                lines.append(f"- {row.name}: {'; '.join(reason.rstrip('.') for reason in reasons)}.")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
