"""Makes characters visible that hide or reorder text."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

# C0 and C1 controls (except tab and line ends), bidirectional controls, zero-width and invisible characters, lone
# surrogates, and language tags, which can hide whole sentences.
_HIDDEN = re.compile(
    "([\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f])\\1*|\r(?!\n)"
)


def visible(text: str) -> Markup:
    """Escape for HTML, with hidden characters as small labels such as `⟨202E⟩`, one per run of a character."""
    return Markup(_HIDDEN.sub(lambda match: f'<i class="ctl">{_name(match)}</i>', str(escape(text))))


def plain_visible(text: str) -> str:
    """Label hidden characters in plain text."""
    return _HIDDEN.sub(_name, text)


def one_line(text: str, longest: int = 200) -> str:
    """Cut a text to one short line, for tables and titles."""
    short = " ".join(text[: 4 * longest].split())
    return plain_visible(short if len(short) <= longest and len(text) <= 4 * longest else short[: longest - 1] + "…")


def _name(characters: re.Match[str]) -> str:
    run = characters.group()
    times = f"×{len(run)}" if len(run) > 1 else ""
    return f"⟨{ord(run[0]):04X}{times}⟩"
