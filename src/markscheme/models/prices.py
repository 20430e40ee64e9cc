"""Prices per million tokens: a small table that ships with the package, and the user's own.

A model that neither table lists has no cost, since a guess would be worse than none.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.datasets.small_texts import read_toml
from markscheme.errors import UsageError
from markscheme.models.addresses import with_environment
from markscheme.runs.usage import Price

ENVIRONMENT_VARIABLE = "MARKSCHEME_PRICES"
_DATED = re.compile(r"(.+?)[-@](?:20\d{2}-?\d{2}-?\d{2}|latest)")


def price_of(config: RunConfig) -> Price | None:
    """Return the price of a run's model, if it is known.

    The user's table (`--prices`, else `$MARKSCHEME_PRICES`) applies to any server. The packaged table applies only to
    the provider itself, since `--base-url` means that someone else is paid. Batches cost half.
    """
    price = _listed(config)
    if price is None or not config.batch:
        return price
    cached = None if price.cached is None else price.cached / 2
    return msgspec.structs.replace(price, input=price.input / 2, output=price.output / 2, cached=cached)


def _listed(config: RunConfig) -> Price | None:
    own = config.prices or os.environ.get(ENVIRONMENT_VARIABLE)
    if own:
        price = _find(read_toml(Path(own)), config.model)
        if price is not None:
            return price
    if with_environment(config).base_url:
        return None
    return _find(read_toml(Path(__file__).with_suffix(".toml")), config.model)


def _find(table: dict[str, Any], model: str) -> Price | None:
    """Look a model up by its full spec or its name, with or without a date suffix."""
    bare = model.partition("/")[2]
    names = [model, bare]
    names += [match[1] for name in (model, bare) if (match := _DATED.fullmatch(name))]
    models = table.get("models", {})
    for name in names:
        if name in models:
            try:
                return msgspec.convert({"as_of": str(table.get("as_of", "")), **models[name]}, Price)
            except (msgspec.ValidationError, TypeError) as error:
                raise UsageError(f"the price of {name!r} needs input and output, in dollars: {error}") from None
    return None
