"""Reads the prices of models from the setting `prices`: `MODEL=INPUT/OUTPUT`, in US dollars per million tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.text import clean_line

FORM = "prices such as my-model=0.5/1.5 (US dollars per million tokens: input/output/cache read/cache write)"
_TOKENS = 1e6


class ModelPrice(msgspec.Struct, frozen=True):
    """The price of one token of each kind, in US dollars."""

    input: float
    output: float
    cache_read: float
    cache_write: float


def read_price(text: str) -> tuple[str, ModelPrice]:
    """Read the name of a model and its price; cached tokens cost as much as other input if nothing is said of them.

    Raises:
        ValueError: with what is allowed.
    """
    name, _, amounts = text.rpartition("=")
    try:
        each = [float(amount) / _TOKENS for amount in amounts.split("/")]
    except ValueError:
        raise ValueError(FORM) from None
    usable = all(math.isfinite(amount) and amount >= 0 for amount in each)
    if not name.strip() or not usable or not 2 <= len(each) <= 4:
        raise ValueError(FORM)
    read = each[2] if len(each) > 2 else each[0]
    write = each[3] if len(each) > 3 else each[0]
    return name.strip(), ModelPrice(each[0], each[1], read, write)


def read_prices(texts: Iterable[str]) -> Mapping[str, ModelPrice]:
    """Read the prices of a checked setting, by the names of the models."""
    return dict(read_price(text) for text in texts)


def unpriced_error(model: str) -> SettingsError:
    """The error for a spending limit that cannot be kept, as the price of a model is unknown."""
    name = clean_line(model, 100)
    return SettingsError(
        f"a spending limit needs the price of {name}, which is unknown: set it with the setting prices, "
        "or remove the limit"
    )
