"""`markscheme lm-eval`: run lm-evaluation-harness with markscheme's tasks included."""

from __future__ import annotations

import argparse
import sys

from markscheme.errors import UsageError, first_line, needed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # Everything goes to lm_eval, `--help` too: with this prefix nothing looks like a flag to argparse.
    parser.prefix_chars = "\0"
    parser.add_argument("arguments", nargs="*", help="the arguments of lm_eval")


def run(args: argparse.Namespace) -> int:
    from markscheme.plugins.lm_eval import TASKS

    evaluate = needed("lm_eval.__main__", "lm-eval").cli_evaluate
    if any(word.split("=")[0] == "--include_path" for word in args.arguments):
        raise UsageError(
            "this command sets --include_path to markscheme's tasks; to use another one, call lm_eval directly"
        )
    words = args.arguments
    if "markscheme" in words or "--model=markscheme" in words:
        import markscheme.plugins.lm_eval_model  # noqa: F401 - registers the name with lm_eval
    if words and words != ["--help"] and words != ["-h"]:
        words = [*words, "--include_path", str(TASKS)]
    sys.argv = ["lm_eval", *words]
    try:
        evaluate()
    except ValueError as problem:  # such as a task that does not exist
        raise UsageError(f"lm_eval: {first_line(problem)}") from problem
    return 0
