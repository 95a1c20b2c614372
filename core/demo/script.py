"""Chooses what the demo's model says next from the request alone: without state, retries just work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.demo.conversation import Conversation, ToolOutcome, read_conversation
from core.demo.playbook import Library, Step, Steps, any_match
from core.demo.values import evaluate, fill, holds

__all__ = ["CLASSIFIER_MARK", "Script", "ToolUse", "Turn"]

CLASSIFIER_MARK = "Answer with exactly one word: SIMPLE or COMPLEX"
ERROR_LIMIT = 300
DELEGATION = ("Agent", "Task")


@dataclass(frozen=True)
class ToolUse:
    """A tool call as the model asks for it."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """One answer of the model; `overloads` requests for it are refused first, `speed` multiplies its pace."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolUse, ...] = ()
    overloads: int = 0
    speed: float = 1.0


class Script:
    """Plays the playbooks of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def next(self, request: Mapping[str, Any]) -> Turn:
        """Give the answer to a Messages API request."""
        conversation = read_conversation(request)
        if CLASSIFIER_MARK in conversation.system or CLASSIFIER_MARK in conversation.query:
            playbook = self._library.named(conversation.query)
            return Turn(text=playbook.classification if playbook is not None else "COMPLEX")
        steps = self._steps(conversation)
        if steps is None:
            return Turn(text=self._introduction(conversation))
        if conversation.answers and (failures := [o for o in conversation.last_outcomes if o.failed]):
            before = _choose(steps, conversation.answers - 1, conversation)
            if before is None or not before.ignore_failures:
                step = before.failed if before is not None else None
                return (
                    self._turn(step, conversation) if step is not None else Turn(text=_gave_up(failures[0]))
                )
        step = _choose(steps, conversation.answers, conversation)
        if step is None:
            return Turn(text="That is all there is to this demo script.")
        return self._turn(step, conversation)

    def _steps(self, conversation: Conversation) -> Steps | None:
        playbooks = self._library.playbooks.values()
        if conversation.is_subagent:
            parts = (part for book in playbooks for part in book.agents.values())
            part = next((part for part in parts if any_match(part.match, conversation.opening)), None)
            if part is None:
                return None
            return part.sent_back if conversation.sent_back else part.steps
        for book in playbooks:
            for entry in book.entries:
                if any_match(entry.match, conversation.query):
                    return entry.steps
        playbook = self._library.named(conversation.query)
        return playbook.steps if playbook is not None else None

    def _turn(self, step: Step, conversation: Conversation) -> Turn:
        values = {name: evaluate(value, conversation) for name, value in step.values.items()}
        texts = self._library.texts
        calls = tuple(
            ToolUse(_tool_name(call.tool, conversation), fill(call.input, values, texts))
            for call in step.calls
        )
        missing = sorted({call.name for call in calls} - conversation.tools)
        if missing:
            return Turn(text=_not_offered(missing), overloads=step.overloads)
        return Turn(
            text=fill(step.text, values, texts),
            thinking=fill(step.thinking, values, texts),
            calls=calls,
            overloads=step.overloads,
            speed=step.speed,
        )

    def _introduction(self, conversation: Conversation) -> str:
        if conversation.is_subagent:
            return "This is the scripted demo model. It has no script for this task, so nothing was done."
        prompts = "\n".join(f"- `{book.prompt}` ({book.title})" for book in self._library.playbooks.values())
        return f"This is the scripted demo model. It can play:\n\n{prompts}\n\nType one of these to try it."


def _choose(steps: Steps, index: int, conversation: Conversation) -> Step | None:
    """The step at `index`, or of its alternatives the first whose condition holds."""
    if not 0 <= index < len(steps):
        return None
    found = steps[index]
    alternatives: tuple[Step, ...] = found if isinstance(found, tuple) else (found,)
    return next((step for step in alternatives if holds(step.when, conversation)), None)


def _tool_name(name: str, conversation: Conversation) -> str:
    """The sub-agent tool goes by two names: the one on offer is used."""
    if name in DELEGATION and name not in conversation.tools:
        return next((other for other in DELEGATION if other in conversation.tools), name)
    return name


def _gave_up(outcome: ToolOutcome) -> str:
    reason = " ".join(outcome.text.split())[:ERROR_LIMIT] or "no reason was given"
    tool = outcome.name.rsplit("__", 1)[-1] or "a tool"
    return (
        f"I could not go on: `{tool}` did not run.\n\n> {reason}\n\n"
        "Nothing more was done. Ask again when you want me to retry, or to allow it."
    )


def _not_offered(names: list[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f"I would need {listed} for this, which this session does not offer me. Nothing was done."
