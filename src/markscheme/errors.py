"""Every way markscheme can fail on purpose, one class a boundary, and how a failure travels.

A message is one sentence for the person at the keyboard: what is wrong, where, and what to do. It is written where the
facts are at hand, raised as the class of the boundary at which it happened, and caught in three places only:

- What concerns one response stays with it. A request that got no answer is a `RequestFailed` (`models/base.py`): the
  scheduler tries again or keeps the reason as that response's `error`, which is missing data. A response that cannot be
  judged is a verdict, `unmarkable` at worst. Neither stops a run.
- What stops a run (a refused key, a full disk) is raised after everything that came back has been kept and counted, and
  the manifest says so: `running/execute.py`.
- `cli/__init__.py` prints the sentence as it stands and exits with `exit_code`. From Python the exception is the caller's.

Anything else that escapes is a bug and keeps its traceback.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any


def first_line(error: BaseException) -> str:
    """What somebody else's error says, short enough to stand in a sentence of ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


class MarkschemeError(Exception):
    """The base of all expected failures; catch this to catch them all."""

    exit_code = 1
    stopped_run: object = None
    """The `Run` that it stopped, with everything that came back kept; None where nothing had begun."""


class UsageError(MarkschemeError):
    """The command or call asks for something that does not exist or contradicts itself."""

    exit_code = 2


class DataError(MarkschemeError):
    """Problems could not be read, fetched or trusted."""


class ModelError(MarkschemeError):
    """A model could not be reached or used at all (a single failed response is data, not this)."""


class MarkingError(MarkschemeError):
    """A protocol cannot be applied to this kind of problem (a strange response is a verdict, not this)."""


class JournalError(MarkschemeError):
    """A run folder cannot be read or written safely."""


class IncompleteRunError(MarkschemeError):
    """The run ended with responses missing; everything that arrived is kept and `resume` asks for the rest."""

    exit_code = 3


def nearest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to say about a name that is not there: the nearest one that is, or else `otherwise`, or all of them."""
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else otherwise or f"there are {', '.join(known)}"


def needed(module: str, extra: str) -> Any:
    """A module of somebody else's, or one of ours that stands on theirs; else the sentence that names our extra with it."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.rpartition(".")[2] if module.startswith("markscheme.") else module.partition(".")[0]
        raise UsageError(f"{name} cannot be imported ({error}): pip install 'markscheme[{extra}]'") from None
