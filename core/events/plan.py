"""The plan of an agent: the list of steps that it keeps with its tool `TodoWrite`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ua_tui.core.text import clean_line

PLAN = "TodoWrite"
"""The tool by which an agent writes its plan, each time the whole of it."""
_LONGEST = 200
_MOST = 100


class Step(msgspec.Struct, frozen=True):
    """One step: what is to be done, in other words while it is done, and its state; texts are clean.

    `began` and `ended` are when its work began and when it was done, in seconds since the epoch.
    """

    text: str
    doing: str
    state: str
    began: float | None = None
    ended: float | None = None

    @property
    def done(self) -> bool:
        """Whether it is done."""
        return self.state == "completed"

    @property
    def running(self) -> bool:
        """Whether the agent works on it."""
        return self.state == "in_progress"


def steps_of(arguments: Mapping[str, Any]) -> tuple[Step, ...]:
    """Read the steps of a call of `TodoWrite`, at most 100; what is no step is left out."""
    given = arguments.get("todos")
    found: list[Step] = []
    for each in given[:_MOST] if isinstance(given, list) else ():
        text = each.get("content") if isinstance(each, dict) else None
        if isinstance(text, str) and (clean := clean_line(text, _LONGEST)):
            doing = each.get("activeForm")
            doing = clean_line(doing, _LONGEST) if isinstance(doing, str) else ""
            found.append(Step(clean, doing or clean, str(each.get("status"))))
    return tuple(found)


def describe_plan(steps: tuple[Step, ...]) -> str:
    """Say how much of a plan is done, and what is being done: `2 of 5 done · Reading the pages`."""
    doing = next((step.doing for step in steps if step.running), "")
    done = f"{sum(step.done for step in steps)} of {len(steps)} done"
    return f"{done} · {doing}" if doing else done
