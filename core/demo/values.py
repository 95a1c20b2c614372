"""Fills a step of a playbook with values taken out of the conversation."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from core.demo.conversation import Conversation
from core.demo.playbook import Condition, Value

__all__ = ["evaluate", "fill", "holds"]

PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
FIELD = re.compile(r"\{(\w+)\}")
PATH_PART = re.compile(r"([^.\[\]]+)|\[(\*|\d+)\]")


def evaluate(value: Value, conversation: Conversation) -> Any:
    """Compute a value: a list of rows, a string when it joins, a number when it counts, or its default."""
    rows = _rows(value, conversation)
    if value.count:
        return len(rows)
    if value.each:
        rows = [_format(value.each, index, row, as_html=value.html) for index, row in enumerate(rows, 1)]
    if not rows:
        return value.default
    if value.join is not None:
        return value.join.join(str(row) for row in rows)
    return rows


def holds(condition: Condition | None, conversation: Conversation) -> bool:
    """Whether a step's condition holds; a step without one always may be played."""
    if condition is None:
        return True
    found = evaluate(condition.value, conversation)
    texts = found if isinstance(found, list) else [found]
    return any(re.search(condition.matches, str(text), re.IGNORECASE) for text in texts)


def fill(template: Any, values: Mapping[str, Any], texts: Mapping[str, str]) -> Any:
    """Replace `${name}` in strings, `{"$value": name}` and `{"$file": name}` anywhere in `template`."""
    match template:
        case str():
            return PLACEHOLDER.sub(lambda found: _text(values.get(found[1], found[0])), template)
        case {"$value": str(name)}:
            return values.get(name)
        case {"$file": str(name)}:
            return fill(texts[name], values, texts)
        case dict():
            return {key: fill(item, values, texts) for key, item in template.items()}
        case list():
            return [fill(item, values, texts) for item in template]
        case _:
            return template


def _rows(value: Value, conversation: Conversation) -> list[Any]:
    rows: list[Any] = []
    if value.source == "workspace":
        rows = [conversation.workspace] if conversation.workspace else []
    elif value.source == "prompt":
        rows = _read(value, conversation.opening, None)
    elif value.source:
        outcome = next((o for o in reversed(conversation.outcomes) if o.is_of(value.source)), None)
        rows = _read(value, outcome.text, outcome.data) if outcome is not None else []
    rows = rows[value.skip :]
    if value.limit is not None:
        rows = rows[: value.limit]
    for more in value.plus:
        rows = rows + [row for row in _rows(more, conversation) if row not in rows]
    return rows


def _read(value: Value, text: str, data: Any) -> list[Any]:
    if value.regex:
        return list(
            dict.fromkeys(found.group(found.re.groups and 1) for found in re.finditer(value.regex, text))
        )
    if value.path:
        return _walk(data, value.path)
    return [text]


def _walk(data: Any, path: str) -> list[Any]:
    """Follow a dotted path with [n] and [*]; whatever does not fit simply yields nothing."""
    found = [data]
    for key, index in PATH_PART.findall(path):
        following: list[Any] = []
        for item in found:
            if key:
                following += [item[key]] if isinstance(item, dict) and key in item else []
            elif isinstance(item, list):
                following += item if index == "*" else item[int(index) : int(index) + 1]
        found = following
    return found


def _format(template: str, index: int, row: Any, *, as_html: bool) -> str:
    fields = {"n": index, **(row if isinstance(row, dict) else {"row": row})}

    def field(found: re.Match[str]) -> str:
        text = _text(fields.get(found[1], ""))
        return html.escape(text) if as_html else text

    return FIELD.sub(field, template)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)
