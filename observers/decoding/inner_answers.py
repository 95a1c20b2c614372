"""The answers of the tools inside a call of several tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def answers_in(whole: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The answers in a result, each with the place of its tool in the call: its number, else its position."""
    match whole:
        case {"data": {"results": [*items]}} | {"results": [*items]}:
            for position, item in enumerate(items):
                if isinstance(item, dict):
                    index = item.get("index")
                    yield index if isinstance(index, int) and index >= 0 else position, item
        case _:
            pass


def answer_of(whole: Any, place: int) -> Mapping[str, Any] | None:
    """The answer of the tool at this place of the call; None if there is none."""
    item = next((item for at, item in answers_in(whole) if at == place), None)
    response = item.get("response") if item else None
    return response if isinstance(response, dict) else item
