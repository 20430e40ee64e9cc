"""`markscheme lm-eval …`: lm-evaluation-harness, with our tasks among its own."""

from __future__ import annotations

import argparse
import sys

from markscheme.errors import UsageError, needed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything goes through to lm_eval, its `--help` too: to argparse nothing here looks like a flag."""
    parser.prefix_chars = "\0"
    parser.add_argument("arguments", nargs="*", help="the arguments of lm_eval")


def run(args: argparse.Namespace) -> int:
    """Run lm_eval with `--include_path` added."""
    from markscheme.plugins.lm_eval import TASKS

    evaluate = needed("lm_eval.__main__", "lm-eval").cli_evaluate
    if any(word.split("=")[0] == "--include_path" for word in args.arguments):
        raise UsageError(
            "lm_eval takes one --include_path, and this command gives it ours; call lm_eval itself for yours"
        )
    words = args.arguments
    if "markscheme" in words or "--model=markscheme" in words:
        import markscheme.plugins.lm_eval_model  # noqa: F401 - makes the name known to lm_eval
    if words and words != ["--help"] and words != ["-h"]:
        words = [*words, "--include_path", str(TASKS)]
    sys.argv = ["lm_eval", *words]
    evaluate()
    return 0
