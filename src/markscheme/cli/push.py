"""`markscheme push`: send a run to a tracker or to the Hugging Face Hub."""

from __future__ import annotations

import argparse

from markscheme.cli.page import call


def run(args: argparse.Namespace) -> int:
    from markscheme.api.exchange import push

    for line in call(push, args):
        print(line)
    return 0
