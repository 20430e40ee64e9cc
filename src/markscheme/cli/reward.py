"""`markscheme reward`: attack a reward function before training, or serve one to trainers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markscheme.cli.page import call, show
from markscheme.errors import counted
from markscheme.pages.parts import Part

if TYPE_CHECKING:
    from markscheme.rewards.attacks import Attacked


def run(args: argparse.Namespace) -> int:
    if args.action == "serve":
        from markscheme.benchmarks import benchmark
        from markscheme.rewards.serving import serve

        problems = list(benchmark(args.benchmark, args.data_dir).problems) if args.benchmark else []
        return call(serve, args, problems=problems)
    from markscheme.api.rewarding import attack

    attacked = call(attack, args, beside=not args.alone)
    show(args, attacked, _parts(attacked))
    return 0


def _parts(attacked: Attacked) -> Iterator[Part]:
    yield Part("title", f"what each attack earns on {counted(attacked.problems, 'problem')} of {attacked.benchmark}")
    rows = [{"attack": "the best constant", "family": "constant", **_shown(attacked.constants)}]
    rows += [{"attack": row.attack, "family": row.family, **_shown(row.earned)} for row in attacked.rows]
    yield Part("table", rows)
    bar = attacked.constants[attacked.rule]
    if not attacked.above:
        yield Part("text", f"{attacked.rule} pays no attack more than the best constant ({bar:g}).")
        return
    best = attacked.above[0]
    yield Part(
        "text",
        f"{attacked.rule} pays {counted(len(attacked.above), 'attack')} more than the best constant ({bar:g}). The best is "
        f"{best.attack!r} with {best.earned[attacked.rule]:g}.",
    )


def _shown(earned: dict[str, float]) -> dict[str, str]:
    return {name: f"{value:g}" for name, value in earned.items()}
