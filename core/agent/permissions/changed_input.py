"""The arguments of a call as a person changed them: checked against what was shown, and described."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.events.types import ASK_USER
from core.text import clean_line

__all__ = ["changes_in", "unmasked"]

_MOST_SHOWN = 200


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
    """Describe how arguments were changed, a line for each of them."""
    lines = []
    for key in dict.fromkeys((*before, *changed)):
        if key not in changed:
            lines.append(f"{clean_line(key)}: removed")
        elif key not in before:
            lines.append(f"{clean_line(key)}: added {_shown(changed[key])}")
        elif changed[key] != before[key]:
            lines.append(f"{clean_line(key)}: {_shown(before[key])} → {_shown(changed[key])}")
    return lines


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clean_line(text, _MOST_SHOWN) or '""'
