"""What a request to a model costs, as far as the command-line agent lets it be known while a query runs.

The agent tells the cost of a turn at its end alone, and counts sub-agents into it. What it tells of itself is enough
for an estimate until then: the price list in its answer to the first handshake, and from each turn's end on what every
model really cost. There is no price list in here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from core.events.types import Usage

__all__ = ["Prices"]

_LISTED = re.compile(r"\$(\d+(?:\.\d+)?)/\$\d+(?:\.\d+)? per Mtok")
# What a token costs in input tokens: every model of the agent's list has the same proportions.
_OUTPUT, _CACHE_WRITE, _CACHE_READ = 5.0, 1.25, 0.1
_WEB_SEARCH_USD = 0.01


class Prices:
    """The price of an input token of each model, in US dollars; lives as long as the session."""

    def __init__(self) -> None:
        self._listed: dict[str, float] = {}
        self._families: dict[str, float] = {}
        self._measured: dict[str, float] = {}

    def read_list(self, models: Iterable[Any]) -> None:
        """Take up what the agent lists of its models when it is connected."""
        for model in models:
            if not isinstance(model, Mapping):
                continue
            found = _LISTED.search(str(model.get("description") or ""))
            if found is None:
                continue
            price = float(found[1]) / 1e6
            self._listed[str(model.get("resolvedModel") or "")] = price
            family = str(model.get("value") or "")
            if family.isalpha() and family != "default":
                self._families[family] = price

    def measure(self, models: Any) -> None:
        """Take up what each model took and cost, as the end of a turn tells it."""
        for name, spent in models.items() if isinstance(models, Mapping) else ():
            if not isinstance(spent, Mapping):
                continue
            usage = Usage(
                input_tokens=_count(spent, "inputTokens"),
                output_tokens=_count(spent, "outputTokens"),
                cache_read_input_tokens=_count(spent, "cacheReadInputTokens"),
                cache_creation_input_tokens=_count(spent, "cacheCreationInputTokens"),
            )
            cost = spent.get("costUSD")
            if isinstance(cost, int | float) and (weight := _weight(usage)):
                searches = _WEB_SEARCH_USD * _count(spent, "webSearchRequests")
                self._measured[str(name)] = max(0.0, cost - searches) / weight

    def cost_of(self, model: str, usage: Usage) -> float | None:
        """Estimate what these tokens of a model cost, in US dollars; None when nothing is known of the model."""
        price = self._measured.get(model, self._listed.get(model))
        if price is None:
            # Of an older model of a family the list has no price; it is near that of the newest.
            price = next((each for family, each in self._families.items() if family in model), None)
        return None if price is None else price * _weight(usage)


def _weight(usage: Usage) -> float:
    return (
        usage.input_tokens
        + _OUTPUT * usage.output_tokens
        + _CACHE_WRITE * usage.cache_creation_input_tokens
        + _CACHE_READ * usage.cache_read_input_tokens
    )


def _count(spent: Mapping[str, Any], name: str) -> int:
    value = spent.get(name)
    return value if isinstance(value, int) else 0
