"""The arguments of a call as a person changed them: checked against what was shown, and described."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ua_tui.core.events.types import ASK_USER
from ua_tui.core.text import clean_line

_MOST_SHOWN = 200
_AROUND = 30


def unmasked(tool: str, changed: dict[str, Any], shown: Any, original: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with which a call runs: the secrets that were masked on the screen are put back.

    Answers to questions of the agent are returned below the questions as the agent wrote them.
    """
    restored: dict[str, Any] = _restored(changed, shown, original)
    answers = restored.get("answers")
    if tool == ASK_USER and isinstance(answers, dict):
        names = dict(zip(_questions(shown), _questions(original), strict=False))
        restored["answers"] = {names.get(key, key): answer for key, answer in answers.items()}
    return restored


def _questions(arguments: Mapping[str, Any]) -> list[str]:
    return [str(each.get("question")) for each in arguments.get("questions") or [] if isinstance(each, dict)]


def _restored(changed: Any, shown: Any, original: Any) -> Any:
    if changed == shown:
        return original
    if isinstance(changed, dict) and isinstance(shown, dict) and isinstance(original, dict):
        return {key: _restored(value, shown.get(key), original.get(key)) for key, value in changed.items()}
    lists = isinstance(changed, list) and isinstance(shown, list) and isinstance(original, list)
    if lists and len(changed) == len(shown) == len(original):
        return [_restored(*each) for each in zip(changed, shown, original, strict=True)]
    return changed


def changes_in(changed: Mapping[str, Any], before: Mapping[str, Any]) -> list[str]:
    """Describe how arguments were changed, a line for each value, with its place: `tools[0].arguments.subject`."""
    return list(_changes("", changed, before))


def _changes(place: str, changed: Any, before: Any) -> Iterator[str]:
    if isinstance(changed, Mapping) and isinstance(before, Mapping):
        for key in dict.fromkeys((*before, *changed)):
            name = f"{place}.{clean_line(key)}" if place else clean_line(key)
            if key not in changed:
                yield f"{name}: removed"
            elif key not in before:
                yield f"{name}: added {_shown(changed[key])}"
            else:
                yield from _changes(name, changed[key], before[key])
    elif isinstance(changed, list) and isinstance(before, list) and len(changed) == len(before):
        for number, values in enumerate(zip(changed, before, strict=True)):
            yield from _changes(f"{place}[{number}]", *values)
    elif changed != before:
        yield f"{place}: {' → '.join(_differing(_text(before), _text(changed)))}"


def _differing(before: str, after: str) -> tuple[str, str]:
    """Two texts; of long ones the parts that differ, with a few characters around them."""
    if max(len(before), len(after)) <= _MOST_SHOWN:
        return _shown(before), _shown(after)
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    start, around = max(0, head - _AROUND), max(0, tail - _AROUND)

    def part(text: str) -> str:
        end = len(text) - around
        return _shown(f"{'…' if start else ''}{text[start:end]}{'…' if around else ''}")

    return part(before), part(after)


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    return clean_line(_text(value), _MOST_SHOWN) or '""'
