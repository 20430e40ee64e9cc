r"""The answer field of a JSON reply: `{"reasoning": "…", "answer": "42"}`, fenced or bare, valid or nearly so.

Models put raw line breaks, LaTeX backslashes and unescaped quotes into their strings and forget braces, so that the
field is looked for as text. What it says is the answer, whole; what the reasoning says is not.
"""

from __future__ import annotations

import re

from markscheme.marking.reading.extracted import TRIES, ExtractedAnswer, trimmed

_KEYS = (
    # `answer` is what ZeroEval, OpenAI's structured outputs and most prompts ask for; the others are its usual variants.
    r"(?:the |your |my )?(?:final|correct|best|short|numerical)?[ _-]?answers?(?:[ _-](?:choice|letter|option|value|text|index))?"
    r"|(?:final|correct|selected|chosen)[ _-]?(?:result|choice|option|value|solution)|result|choice|option|solution|value|output"
    r"|答案|最终答案|正确答案|选项|respuesta(?:[ _]final)?|réponse(?:[ _]finale)?|antwort|ответ"
)
_FIELD = re.compile(rf"""["'“]\s?(?P<key>{_KEYS})\s?["'”]\s{{0,4}}[:：]\s{{0,8}}(?=[^\s,}}])""", re.IGNORECASE)
# Names that many objects have which are no reply: these count only in an object that ends the response.
_SECONDARY = re.compile(r"result|choice|option|solution|value|output|选项", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"[_.…\s]*|<[^<>]{0,60}>|\[[^\[\]]{0,40}answer[^\[\]]{0,40}\]|null|none|n/?a", re.IGNORECASE)
_BARE_END = re.compile(r",(?!\d)|[}\n]|```")
# No answer field is longer: a longer one is a whole solution, and its end is looked at like any other text.
MAX_VALUE = 2_000
_REACH = 20_000  # how far before the end the field may stand: its reasoning may follow it


def json_answer(text: str, start: int, end: int) -> ExtractedAnswer | None:
    """What the answer field of the last JSON reply says."""
    if text.find('"', start, end) < 0 and (
        text[end - 1 : end] not in ("}", "`", " ", "\n") or text[max(start, end - 64) : end].rstrip(" \n`")[-1:] != "}"
    ):
        return None  # most responses: without a quote, only an object at the very end is looked at, for it may have '…'
    if text.find("{", start, end) < 0:
        return None
    fields = list(_FIELD.finditer(text, max(start, end - _REACH), end))[-TRIES:]
    primary = [field for field in fields if not _SECONDARY.fullmatch(field["key"])]
    primary = [field for field in primary if not field["key"].endswith("index")] or primary
    for field in reversed(primary or fields):
        value = _value(text, field.end(), end)
        if value is None or _PLACEHOLDER.fullmatch(value.content):
            continue
        outer_end = _object_end(text, value.outer_end, end)
        if not primary and text[outer_end:end].strip(" \n\t`"):
            continue
        return value._replace(outer_end=outer_end)
    return None


def _value(text: str, at: int, end: int) -> ExtractedAnswer | None:
    """The value that begins at `at`: a string, a list, an object, or bare up to the end of the field."""
    limit = min(end, at + MAX_VALUE)
    opened = text[at]
    if opened in "\"'“":
        close = _closing_quote(text, at + 1, limit, "”" if opened == "“" else opened)
        if close < 0:
            return None
        return _decoded(text, at + 1, close)._replace(outer_end=close + 1)
    if opened in "[{":
        close = _closing_bracket(text, at, limit)
        if close < 0:
            return None
        content = _flattened(text[at : close + 1])
        return ExtractedAnswer(content, at, close + 1, "json", outer_end=close + 1)
    stop = _BARE_END.search(text, at, limit)
    finish = stop.start() if stop else limit
    bare = trimmed(text, at, finish, "json")
    return bare._replace(content=bare.content.strip("*` "), outer_end=finish)


_QUOTE_FOLLOWS = re.compile(r"\s{0,40}+(?:[,}\]]|```|\Z)|[ \t]{0,8}+\n")


def _closing_quote(text: str, at: int, limit: int, quote: str) -> int:
    """Where the string ends: at a quote that is not escaped and that the field, the object or the line ends behind."""
    for _ in range(TRIES):
        close = text.find(quote, at, limit)
        if close < 0:
            return -1
        before = close
        while before > at and text[before - 1] == "\\":
            before -= 1
        if (close - before) % 2 == 0 and _QUOTE_FOLLOWS.match(text, close + 1, min(len(text), close + 64)):
            return close
        at = close + 1
    return -1


_PAIRS = {"[": "]", "{": "}"}


def _closing_bracket(text: str, at: int, limit: int) -> int:
    depth, closing, opening = 0, _PAIRS[text[at]], text[at]
    for place in range(at, limit):
        character = text[place]
        if character == opening:
            depth += 1
        elif character == closing:
            depth -= 1
            if depth == 0:
                return place
    return -1


_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([\\"/])|([nrt])(?![a-z]))')
_JSON_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([\\"/])|([nrt]))')
# A command with its backslash escaped: then a single backslash is JSON's own.
_ESCAPED_COMMAND = re.compile(r"(?<!\\)\\\\[a-zA-Z]")
_ESCAPES = {"n": "\n", "r": "\n", "t": "\t"}


def _decoded(text: str, start: int, end: int) -> ExtractedAnswer:
    r"""The string without its escapes. `\frac` and `\nu` are LaTeX that was not escaped, not a form feed or a new line."""
    value = trimmed(text, start, end, "json")
    if "\\" not in value.content:
        return value
    escapes = _JSON_ESCAPE if _ESCAPED_COMMAND.search(value.content) else _ESCAPE
    return value._replace(content=escapes.sub(_unescaped, value.content).strip())


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return escape[2] or _ESCAPES[escape[3]]


_ITEM = re.compile(
    r"""["']([A-Za-z_][\w ]{0,30}+)["']\s{0,4}:\s{0,4}(?:"([^"]{0,200}+)"|([^,"{}\[\]]{1,200}+))|"([^"]{0,200}+)"|'([^']{0,200}+)'"""
)
_NO_NAME = frozenset(("value", "answer", "unit", "units", "text", "number", "letter", "option", "choice", "result"))


def _flattened(value: str) -> str:
    """A list or object as a person would write it: `[1, "2"]` is `1, 2`, `{"x": 1, "y": 2}` is `x = 1, y = 2`."""
    if value.startswith("{"):
        items = [(item[1], (item[2] or item[3] or "").strip()) for item in _ITEM.finditer(value) if item[1]]
        if items and all(name.lower() in _NO_NAME for name, _ in items):
            return " ".join(content for _, content in items)
        return ", ".join(f"{name} = {content}" for name, content in items)
    unquoted = _ITEM.sub(lambda item: item[4] or item[5] or item[0], value)
    return unquoted[1:-1].strip() if "," not in unquoted else unquoted


_STRING = re.compile(r'"(?>(?:[^"\\]|\\.)*)"', re.DOTALL)
_CLOSES = re.compile(r"\s{0,40}+\}")


def _object_end(text: str, at: int, end: int) -> int:
    """Where the object around the field ends; what stands in it behind the field, such as its reasoning, is no answer."""
    closed = _CLOSES.match(text, at, end)
    if closed is not None:
        return closed.end()
    limit = end
    place, brace = at, text.find("}", at, limit)
    while brace >= 0:
        string = _STRING.search(text, place, limit)
        if string is None or string.start() > brace:
            return brace + 1
        place = string.end()
        brace = text.find("}", place, limit)
    # Quotes that do not match: the last brace of the region, else all of it.
    last = text.rfind("}", at, limit)
    return last + 1 if last >= 0 else limit
