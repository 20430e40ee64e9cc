"""From text to one of the kinds of answer: characters, tokens, expressions, units."""
