"""`markscheme show`: a benchmark's problem, and the prompt really sent for it."""

from __future__ import annotations

import argparse

from markscheme.cli.options import add_prompt_file
from markscheme.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which benchmark, which problem, which way of asking."""
    parser.add_argument("benchmark", metavar="BENCHMARK", help="a name from `markscheme list`, or a .toml or data file")
    parser.add_argument("--problem", metavar="ID", help="a problem's id or key (default: the first)")
    parser.add_argument("--prompt", metavar="NAME|TEXT", help="prompt variant, or a text with {statement} in it")
    add_prompt_file(parser)
    parser.add_argument("--system-prompt", metavar="TEXT", help="system message before the question")
    parser.add_argument("--fewshot", type=int, metavar="N", help="worked examples in the prompt")
    parser.add_argument("--fewshot-pool", metavar="FILE|BENCHMARK", help="where worked examples come from")
    parser.add_argument("--fewshot-seed", type=int, default=42, metavar="N", help="which examples are drawn")
    parser.add_argument("--data-dir", metavar="DIR", help="folder of official data")
    parser.add_argument("--json", action="store_true", help="print only JSON")


def run(args: argparse.Namespace) -> int:
    """Print one question as a model would see it, and its gold."""
    from markscheme.benchmarks import benchmark, with_examples
    from markscheme.prompts import prompts_sha256
    from markscheme.reporting.terminal import print_json

    if (args.fewshot or 0) < 0 or args.fewshot_seed < 0:
        raise UsageError("--fewshot and --fewshot-seed take numbers from 0 up")
    bench = benchmark(args.benchmark, args.data_dir)
    if args.fewshot_pool:
        bench = with_examples(bench, args.fewshot_pool, args.data_dir)
    questions = bench.questions(
        variant=args.prompt,
        fewshot=args.fewshot,
        fewshot_seed=args.fewshot_seed,
        system_prompt=args.system_prompt,
    )
    wanted = [q for q in questions if args.problem is None or args.problem in (q.problem.id, q.problem.key)]
    if not wanted:
        ids = ", ".join(question.problem.id for question in questions[:3])
        raise UsageError(f"{bench.name} has no problem {args.problem!r}; its ids are like {ids}")
    question = wanted[0]
    if args.json:
        print_json({"question": question, "prompt_sha256": prompts_sha256(q.prompt for q in questions)})
        return 0
    problem = question.problem
    print(f"{bench.name}, problem {problem.id} (key {problem.key}), {len(questions)} problems in all")
    for message in question.prompt.messages:
        print(f"\n── {message.role} " + "─" * 60)
        print(message.content)
    print("\n── gold, never sent " + "─" * 50)
    gold = problem.gold
    print(gold if isinstance(gold, str) else f"any way to make {gold.target} from {', '.join(map(str, gold.nums))}")
    for name, value in problem.metadata.items():
        print(f"{name}: {value}")
    print(f"\nmarked with {bench.protocol} by default")
    return 0
