"""`markscheme completion`: print shell completion for bash, zsh or fish.

The script calls `markscheme completion words …` at every Tab, so the completions come from the real parsers and from the
installed benchmarks, protocols and backends.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markscheme.cli.arguments import listed


def script(shell: str) -> str:
    return Path(__file__).with_name("shells").joinpath(f"completion.{shell}").read_text()


def run(args: argparse.Namespace) -> int:
    print(script(args.shell), end="")
    return 0


def print_candidates(words: Sequence[str]) -> None:
    """Print the completions of the last word, one per line."""
    for value, meaning in candidates(words):
        print(f"{value}\t{meaning}" if meaning else value)


def candidates(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the completions of the last word with their meanings; none if the shell should offer files."""
    words = [part for word in words for part in _parted(word)] or [""]
    *before, begun = words
    return [(value, meaning) for value, meaning in _offered(before, begun) if value.startswith(begun)]


def _parted(word: str) -> list[str]:
    """Split `--protocol=math` in two; bash hands it over in three parts."""
    flag, equals, value = word.partition("=")
    return ([] if word == "=" else [flag, value]) if equals and (flag.startswith("--") or not flag) else [word]


def _offered(before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    from markscheme.cli import COMMANDS, build_parser

    if not before:
        yield from COMMANDS.items()
        yield from (("--help", "list the commands"), ("--version", "print the version"))
        return
    if before[0] not in COMMANDS:
        return
    parser: argparse.ArgumentParser = build_parser(before[0])
    for word in before[1:]:
        subcommands = [action.choices for action in parser._actions if isinstance(action.choices, dict)]
        parser = next((part[word] for part in subcommands if word in part), parser)
    flags = {flag: action for action in parser._actions for flag in action.option_strings}
    option = _open_option(before, flags)
    if begun.startswith("-"):
        for flag, action in flags.items():
            if flag.startswith("--") or flag == begun:
                yield flag, " ".join(listed(action.help or "").replace("%%", "%").split())[:60]
        return
    if option is not None:
        yield from _values(option)
    if option is None or before[-1] not in flags:
        for action in parser._actions:
            if not action.option_strings:
                yield from _values(action)


def _open_option(before: Sequence[str], flags: Mapping[str, argparse.Action]) -> argparse.Action | None:
    """Return the option that still takes a value: the last one, if it has none yet or takes several."""
    at = max((place for place, word in enumerate(before) if word in flags), default=None)
    option = flags[before[at]] if at is not None else None
    if at is None or option is None or option.nargs == 0:
        return None
    return option if at == len(before) - 1 or option.nargs == "+" else None


def _values(action: argparse.Action) -> Iterator[tuple[str, str]]:
    if isinstance(action, argparse._SubParsersAction):
        yield from ((one.dest, one.help or "") for one in action._choices_actions)
    elif isinstance(action.choices, list | tuple):
        yield from ((str(choice), "") for choice in action.choices)
    elif action.dest in ("benchmark", "benchmarks", "names"):  # the last of `markscheme data`
        from markscheme.benchmarks import benchmarks

        yield from ((name, one.summary) for name, one in benchmarks().items())
    elif action.dest == "protocol":
        from markscheme.marking import get_protocol, protocol_names

        yield from ((name, get_protocol(name).description) for name in protocol_names())
    elif action.dest == "model":
        from markscheme.models import WITHOUT_GPU, backend_names

        yield from ((name if name in WITHOUT_GPU else f"{name}/", summary) for name, summary in backend_names().items())
    elif action.dest in ("track", "to"):
        from markscheme.tracking import TRACKERS

        yield from TRACKERS.items()
