"""Python objects where a name is expected: `file.py:name`, or an object that a Python program hands over.

An object is known by its spec. `rules.py:half` can be loaded again anywhere; `python:half` exists only in the program that
defined it. Both come with the SHA-256 of their source, which a manifest records.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from markscheme.errors import UsageError, first_line, os_reason

_SPEC = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)", re.DOTALL)
_HANDED_OVER = "python:"


class SourceObject(NamedTuple):
    """An object, how to name it, and the digest of its source."""

    value: Any
    spec: str
    sha256: str

    @property
    def name(self) -> str:
        return self.spec.rpartition(":")[2]


_handed_over: dict[str, SourceObject] = {}
_loaded: dict[tuple[str, str], SourceObject] = {}


def is_object_spec(text: str) -> bool:
    """True for `file.py:name` and `python:name`; model names such as `openai/x:free` are neither."""
    return is_handed_over(text) or _SPEC.fullmatch(text) is not None


def is_handed_over(spec: str) -> bool:
    """True for `python:name`, which exists only in the program that defined it."""
    return spec.startswith(_HANDED_OVER)


def load_object(spec: str, kind: str = "object") -> SourceObject:
    """Return the object a spec names; also `package.module:name`. `kind` is the word for it in messages."""
    if is_handed_over(spec):
        if (known := _handed_over.get(spec)) is not None:
            return known
        name = spec.removeprefix(_HANDED_OVER)
        raise UsageError(
            f"the {kind} {name!r} was an object of a Python program; give it again, as in ms.resume(run, {kind}={name})"
        )
    if (match := _SPEC.fullmatch(spec)) is not None:
        return _from_file(spec, Path(match["file"]), match["name"], kind)
    module, _, name = spec.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # the module is the user's
        raise UsageError(f"the {kind} {spec} cannot be loaded: {first_line(error)}") from error
    return SourceObject(found, spec, source_digest(found))


def file_of(spec: str) -> Path | None:
    """Return the file that a spec names, without running it."""
    match = _SPEC.fullmatch(spec)
    return Path(match["file"]) if match and not is_handed_over(spec) else None


def hand_over(value: object, kind: str) -> SourceObject:
    """Name an object of this program; `kind` is the word for it in messages."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None) or type(value).__name__
    if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_][\w.-]*", name)):
        raise UsageError(
            f"a {kind} needs a name for the manifest, and {name!r} cannot be one: define it with `def name(…)`"
        )
    if spec := _importable(value):
        content = Path(spec.rpartition(":")[0]).read_bytes()
        return SourceObject(value, spec, hashlib.sha256(content).hexdigest())
    spec = f"{_HANDED_OVER}{name}"
    _handed_over[spec] = given = SourceObject(value, spec, source_digest(value))
    return given


def source_digest(value: object) -> str:
    """SHA-256 of the source that defines an object, or of its byte code if the source is unknown."""
    defined = value if inspect.isroutine(value) or inspect.isclass(value) else getattr(value, "judge", type(value))
    try:
        source = inspect.getsource(defined).encode()
    except (OSError, TypeError):
        code = getattr(defined, "__code__", None)
        source = repr((code.co_code, code.co_names, code.co_varnames)).encode() if code else repr(defined).encode()
    return hashlib.sha256(source).hexdigest()


def _importable(value: object) -> str:
    """`file.py:name` of a function at the top of a module that can be loaded again, else nothing.

    A script that is running is not loaded again: that would start its work a second time.
    """
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", "")
    file = getattr(module, "__file__", None)
    if module is None or module.__name__ == "__main__" or not file or getattr(module, name, None) is not value:
        return ""
    path = Path(file)
    spec = f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{name}"
    return spec if _SPEC.fullmatch(spec) else ""


def _from_file(spec: str, path: Path, name: str, kind: str) -> SourceObject:
    """Run a file and return an object from it, once per version of the file."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"the {kind} {name!r} is in {path}, which cannot be read ({os_reason(error)}); give its place as FILE.py:{name}"
        ) from None
    digest = hashlib.sha256(source).hexdigest()
    if (known := _loaded.get((spec, digest))) is not None:
        return known
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # what the file imports may be next to it
    plan = importlib.util.spec_from_file_location(f"_markscheme_{path.stem}_{digest[:12]}", path)
    if plan is None or plan.loader is None:
        raise UsageError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(plan)
    sys.modules[plan.name] = module  # dataclasses look their module up
    try:
        plan.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # the file is the user's
        raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {first_line(error)}") from error
    if not hasattr(module, name):
        raise UsageError(f"{path} defines no {name!r}; it has {', '.join(_public(module)) or 'no functions'}")
    made = _loaded[spec, digest] = SourceObject(getattr(module, name), spec, digest)
    return made


def _public(module: Any) -> list[str]:
    return [name for name, value in vars(module).items() if isinstance(value, Callable) and not name.startswith("_")]  # type: ignore[arg-type]


def named_objects(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a run with objects replaced by their specs."""
    return {
        name: hand_over(value, name).spec if name in ("model", "protocol") and not _is_name(value) else value
        for name, value in options.items()
    }


def _is_name(value: object) -> bool:
    return value is None or isinstance(value, str)
