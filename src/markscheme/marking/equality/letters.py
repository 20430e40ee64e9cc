"""Patterns for words in any script. Thai and the scripts of India write vowels as signs that `re` does not count as letters."""

from __future__ import annotations

import unicodedata
from typing import Final

_SCRIPTS_WITH_SIGNS: Final = range(0x0900, 0x1200)
SIGNS: Final = "".join(c for c in map(chr, _SCRIPTS_WITH_SIGNS) if unicodedata.category(c)[0] == "M")
WORD: Final = rf"[^\W\d_]+(?:[{SIGNS}][^\W\d_]*)*"  # letters written together
