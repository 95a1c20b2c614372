"""The answers of the tools inside a call of several tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["answer_of"]


def answer_of(whole: Mapping[str, Any] | None, index: int) -> Mapping[str, Any] | None:
    """The answer of the tool at this place of the call, by its number or its position; None if there is none."""
    match whole:
        case {"data": {"results": list() as results}}:
            items = [item for item in results if isinstance(item, dict)]
            numbered = [item for item in items if item.get("index") == index]
            item = numbered[0] if numbered else results[index] if index < len(results) else None
            response = item.get("response") if isinstance(item, dict) else None
            return response if isinstance(response, dict) else item if isinstance(item, dict) else None
        case _:
            return None
