"""What a token is, as the bits of an integer: its form and the lexicon classes of a word or phrase."""

from __future__ import annotations

from typing import Final

# Forms. ASKS is a question mark, STOP any other end of a sentence, HASHES is GSM8K's `####`.
(
    NUMBER, LETTER, FORMULA, BOX, WORD, STOP, LINE, COMMA, COLON, EQUALS, EMPHASIS, OPEN, CLOSE, HASHES, ASKS, OTHER,
) = (1 << place for place in range(16))  # fmt: skip

# Classes of the lexicon, in the order of `CLASSES`. The class NUMBER, for number words, is called NUMERAL here.
(
    ANSWER, IS, SO, CHOOSE, GOOD, BAD, NOT, HEDGE, LIKELY, IF, BECAUSE, BUT, RETRACT, AND, OR, OPTION, BOUND, OPERATE, RESCALE,
    APPROX, ASK, REMARK, YES, NO, TRUE, FALSE, NONE, ALL, UNKNOWN, QUESTION, ROLE, STEP, LABEL, FINAL, THIS, UNIT, WITHIN,
    FILLER, NUMERAL, SCALE, CONNECT, THINK, REFUSE, MINUS, RESULT, OTHERS, WOULD,
) = (1 << place for place in range(16, 63))  # fmt: skip
SYMBOL: Final = 1 << 63  # a word that may be mathematics: x, sin, cm

_NAMES: Final = {name: bit for name, bit in list(globals().items()) if name.isupper() and isinstance(bit, int)}
FORMS: Final = {name.lower(): bit for name, bit in _NAMES.items() if bit < ANSWER}
CLASSES: Final = {
    "NUMBER" if name == "NUMERAL" else name: bit for name, bit in _NAMES.items() if ANSWER <= bit < SYMBOL
}
