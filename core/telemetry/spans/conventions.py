"""What a span says in the terms of OpenTelemetry's GenAI conventions and of OpenInference: the only table of names.

`facts.toml` names each fact in every convention that has a name for it, and `spans.toml` says of which kind a span is.
Only the span of a turn has its tokens and their cost, as a viewer adds up what it finds in a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ua_tui.core.events.types import Usage
from ua_tui.core.json_values import table_of

SUBAGENT_CALL = "tool_call (sub-agent)"
"""The name in `SPANS` of a call that starts a sub-agent; its span is called like that of any call."""

Value = str | int | float | bool | tuple[str, ...]
"""What an attribute can be."""


class Fact(msgspec.Struct, frozen=True):
    """A fact that a span can state: its meaning, and its names in the conventions."""

    meaning: str
    names: tuple[str, ...]


FACTS = table_of(__file__, "facts.toml", dict[str, Fact])

_TABLES = table_of(__file__, "spans.toml")
SPANS: Mapping[str, Mapping[str, str]] = _TABLES["spans"]
"""The facts that follow from the name of a span, without its number; any other span is only a `CHAIN`."""

SHOWN: Mapping[str, tuple[Literal["input", "output"], str]] = _TABLES["shown"]
"""The attribute of a span without duration that is its input or its output."""

_OTHER = {"kind": "CHAIN"}
_OF_CHILD = {**_OTHER, "counted_tokens": "{}"}


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """What every span of a session states: whose it is. Empty texts are left out."""

    session: str = ""
    user: str = ""

    @property
    def attributes(self) -> dict[str, Value]:
        """The attributes of every span."""
        return named(session=self.session or None, user=self.user or None)


NO_LABELS = Labels()


def named(**facts: Value | None) -> dict[str, Value]:
    """Name these facts in all conventions; one that is None is left out.

    Raises:
        KeyError: there is no such fact.
    """
    return {name: value for fact, value in facts.items() if value is not None for name in FACTS[fact].names}


def facts_of_span(name: str) -> dict[str, Value]:
    """The attributes that follow from the name of a span."""
    return named(**SPANS.get(name.rstrip("0123456789").removesuffix("_"), _OTHER))


def facts_of_child(attributes: Mapping[str, Any], labels: Labels) -> dict[str, Any]:
    """The attributes of a span of a child process, as a part of the session; our own span has the tokens of a turn."""
    return named(**_OF_CHILD) | dict(attributes) | labels.attributes


def facts_of_tokens(usage: Usage, cost_usd: float | None) -> dict[str, Value]:
    """The attributes of the tokens of a turn; the conventions count what comes from the cache as read, too."""
    return named(
        input_tokens=usage.read,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total,
        cache_read_tokens=usage.cache_read_input_tokens,
        cache_write_tokens=usage.cache_creation_input_tokens,
        cost=cost_usd,
    )
