"""Read the answer field of a JSON reply: `{"reasoning": "…", "answer": "42"}`, fenced or bare, valid or nearly so.

Models put raw line breaks, LaTeX backslashes and unescaped quotes into their strings and forget braces, so the field is
found by text search. Its content is the whole answer; the reasoning is ignored.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from markscheme.marking.reading.boxes import TRIES, ExtractedAnswer, trimmed
from markscheme.marking.reading.words import either, listed, mark

_ANSWERS, _QUALITIES, _PARTS, _OTHERS, _CHOSEN = (
    frozenset(listed(name))
    for name in ("answer_keys", "answer_qualities", "answer_parts", "other_keys", "other_qualities")
)
_SPACE: Final = re.compile("[ _-]")
_FIELD: Final = re.compile(
    r"""["'“]\s?(?P<key>[^\W\d]\w{0,12}(?>(?:[ -]\w{1,12}){0,4}))\s?["'”]\s{0,4}[:：]\s{0,8}(?=[^\s,}])"""
)
_TEMPLATE: Final = re.escape(mark("field_template"))
_PLACEHOLDER: Final = re.compile(
    rf"[_.…\s]*|<[^<>]{{0,60}}>|\[[^\[\]]{{0,40}}{_TEMPLATE}[^\[\]]{{0,40}}\]|{either('field_placeholders')}",
    re.IGNORECASE,
)
_BARE, _INDEX, _ANSWER = 1, 2, 3  # ranks of a field's name
_BARE_END: Final = re.compile(r",(?!\d)|[}\n]|```")
_LONGEST: Final = 2_000  # a longer field is a whole solution, read like any other text
_REACH: Final = 20_000  # how far from the end the field may be: its reasoning may follow it


def json_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """Return the answer field of the last JSON reply."""
    if text.find('"', start, end) < 0 and (
        text[end - 1 : end] not in ("}", "`", " ", "\n") or text[max(start, end - 64) : end].rstrip(" \n`")[-1:] != "}"
    ):
        return None  # fast path: without a double quote, only an object at the very end can hold a field
    if text.find("{", start, end) < 0:
        return None
    fields = [(each, _rank(each["key"])) for each in _FIELD.finditer(text, max(start, end - _REACH), end)]
    fields = [field for field in fields if field[1]][-TRIES:]
    best = max((rank for _, rank in fields), default=0)
    for field in [field for field, rank in reversed(fields) if rank == best]:
        value = _value(text, field.end(), end)
        if value is None or _PLACEHOLDER.fullmatch(value.content):
            continue
        outer_end = _object_end(text, value.outer_end, end)
        if best > _BARE or not text[outer_end:end].strip(" \n\t`"):
            return replace(value, outer_end=outer_end)
    return None


def _rank(key: str) -> int:
    """Return how clearly a field's name tells that it holds the answer: "final answer", "answer index", "value", others."""
    words = _SPACE.split(key.lower())
    core = [each for at, each in enumerate(words) if not _QUALITIES.issuperset(words[: at + 1])]
    named = core[:-1] if core[-1:] and core[-1] in _PARTS and len(core) > 1 else core
    if " ".join(core) in _ANSWERS or " ".join(named) in _ANSWERS:
        return _INDEX if core[-1] == "index" else _ANSWER
    if " ".join(words) in _OTHERS:
        return _BARE
    return _ANSWER if words[0] in _CHOSEN and " ".join(words[1:]) in _OTHERS else 0


def _value(text: str, at: int, end: int) -> ExtractedAnswer | None:
    """Return the value that starts at `at`: a string, a list, an object, or bare text up to the end of the field."""
    limit = min(end, at + _LONGEST)
    opened = text[at]
    if opened in "\"'“":
        close = _closing_quote(text, at + 1, limit, "”" if opened == "“" else opened)
        return replace(_decoded(text, at + 1, close), outer_end=close + 1) if close >= 0 else None
    if opened in "[{":
        finish = _closing_bracket(text, at, limit) + 1
        return ExtractedAnswer(_flattened(text[at:finish]), at, finish, "json", outer_end=finish) if finish else None
    stop = _BARE_END.search(text, at, limit)
    finish = stop.start() if stop else limit
    bare = trimmed(text, at, finish, "json")
    return replace(bare, content=bare.content.strip("*` "), outer_end=finish)


_QUOTE_FOLLOWS: Final = re.compile(r"\s{0,40}+(?:[,}\]]|```|\Z)|[ \t]{0,8}+\n")


def _closing_quote(text: str, at: int, limit: int, quote: str) -> int:
    """Return the end of the string: an unescaped quote followed by the end of the field, object or line."""
    for _ in range(TRIES):
        close = text.find(quote, at, limit)
        if close < 0:
            return -1
        slashes = close - at - len(text[at:close].rstrip("\\"))
        if slashes % 2 == 0 and _QUOTE_FOLLOWS.match(text, close + 1, min(len(text), close + 64)):
            return close
        at = close + 1
    return -1


def _closing_bracket(text: str, at: int, limit: int) -> int:
    depth, opening, closing = 0, text[at], {"[": "]", "{": "}"}[text[at]]
    for place in range(at, limit):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place
    return -1


_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([\\"/])|([nrt])(?![a-z]))')
_JSON_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([\\"/])|([nrt]))')
# A command with its backslash escaped: single backslashes are then JSON escapes.
_ESCAPED_COMMAND: Final = re.compile(r"(?<!\\)\\\\[a-zA-Z]")


def _decoded(text: str, start: int, end: int) -> ExtractedAnswer:
    r"""Return the string with its escapes decoded. `\frac` and `\nu` are unescaped LaTeX, not a form feed or a new
    line.
    """
    value = trimmed(text, start, end, "json")
    if "\\" not in value.content:
        return value
    escapes = _JSON_ESCAPE if _ESCAPED_COMMAND.search(value.content) else _ESCAPE
    return replace(value, content=escapes.sub(_unescaped, value.content).strip())


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return escape[2] or ("\t" if escape[3] == "t" else "\n")


_ITEM: Final = re.compile(
    r"""["']([A-Za-z_][\w ]{0,30}+)["']\s{0,4}:\s{0,4}(?:"([^"]{0,200}+)"|([^,"{}\[\]]{1,200}+))|"([^"]{0,200}+)"|'([^']{0,200}+)'"""
)
_UNNAMED: Final = frozenset(listed("unnamed_fields"))


def _flattened(value: str) -> str:
    """Return a list or object in plain notation: `[1, "2"]` is `1, 2`, `{"x": 1, "y": 2}` is `x = 1, y = 2`."""
    if value.startswith("{"):
        items = [(item[1], (item[2] or item[3] or "").strip()) for item in _ITEM.finditer(value) if item[1]]
        if items and all(name.lower() in _UNNAMED for name, _ in items):
            return " ".join(content for _, content in items)
        return ", ".join(f"{name} = {content}" for name, content in items)
    unquoted = _ITEM.sub(lambda item: item[4] or item[5] or item[0], value)
    return unquoted[1:-1].strip() if "," not in unquoted else unquoted


_STRING_OR_BRACE: Final = re.compile(r'"(?>(?:[^"\\]|\\.)*)"|\}', re.DOTALL)


def _object_end(text: str, at: int, end: int) -> int:
    """Return the end of the object around the field; its other fields, such as the reasoning, are not the answer."""
    for found in _STRING_OR_BRACE.finditer(text, at, end):
        if found[0] == "}":
            return found.end()
    # Unbalanced quotes: end at the last brace of the region, or at its end.
    last = text.rfind("}", at, end)
    return last + 1 if last >= 0 else end
