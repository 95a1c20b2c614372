"""A request of the Anthropic Messages API, parsed as a conversation: queries and results of tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ua_tui.core.events.continuation import RESUMED

SENT_BACK = "Stop hook feedback:"
INTERRUPTED = "[Request interrupted"
NOT_A_QUERY = ("<system-reminder>", "<local-command", "<command-", INTERRUPTED)
SUBAGENT_MARK = "cc_is_subagent=true"
FOLDERS = (
    re.compile(r"(?<![\w.:/])(/[^\n\"'`<>]*?AGENT_RUN_WORKSPACES/session_[A-Za-z0-9_-]+)"),
    re.compile(r"working directory:? *(/[^\n\"'`<>]+)", re.IGNORECASE),
    re.compile(r"workspace[^/\n]{0,40}?(/[^\s\"'`<>,;]+)", re.IGNORECASE),
)


@dataclass(frozen=True)
class ToolOutcome:
    """A finished tool call as the model sees it."""

    name: str
    input: Mapping[str, Any]
    text: str
    failed: bool

    @property
    def data(self) -> Any:
        """The result as JSON, without the wrapper of structured text results; None when it is not JSON."""
        value = _json(self.text)
        if isinstance(value, dict) and set(value) == {"result"}:
            inner = value["result"]
            return _json(inner) if isinstance(inner, str) else inner
        return value

    def is_of(self, tool: str) -> bool:
        """Whether the call was of `tool`: its name, its last part, or a slug that it executed."""
        if self.name == tool or self.name.rsplit("__", 1)[-1] == tool:
            return True
        inner = self.input.get("tools")
        return isinstance(inner, list) and any(
            isinstance(item, dict) and item.get("tool_slug") == tool for item in inner
        )


@dataclass(frozen=True)
class Conversation:
    """The parts of a request that a script needs.

    `query` is the latest text of a person (or of the agent that delegates); `answers` is how many times the
    model has spoken since; `last_outcomes` are the tool results after the newest of these.
    """

    system: str
    tools: frozenset[str]
    opening: str
    query: str
    answers: int
    outcomes: Sequence[ToolOutcome]
    last_outcomes: Sequence[ToolOutcome]
    is_subagent: bool
    workspace: str

    @property
    def sent_back(self) -> bool:
        """Whether a hook refused to let the agent stop."""
        return self.query.startswith(SENT_BACK)


def read_conversation(request: Mapping[str, Any]) -> Conversation:
    """Read a Messages API request; parts of unknown shape are skipped."""
    messages = [m for m in request.get("messages", []) if isinstance(m, dict)]
    system = "\n".join(_texts(request.get("system")))
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    outcomes: list[ToolOutcome] = []
    last_outcomes: list[ToolOutcome] = []
    opening = query = ""
    answers, has_spoken = 0, False
    environment = [system]
    for message in messages:
        content = message.get("content")
        match message.get("role"):
            case "assistant":
                answers, has_spoken = answers + 1, True
                last_outcomes = []
                for block in _blocks(content):
                    if block.get("type") == "tool_use":
                        calls[str(block.get("id"))] = (str(block.get("name")), block.get("input") or {})
            case "user":
                found = list(_outcomes(content, calls))
                outcomes += found
                last_outcomes += found
                text = _query_text(content)
                # A query that is resumed goes on where it was.
                if text and not text.startswith(RESUMED):
                    opening, query, answers, has_spoken = opening or text, text, 0, False
                    last_outcomes = []
                elif text and has_spoken and all(each.failed for each in last_outcomes):
                    # Its last message was cut off, or its calls were: it says that again.
                    answers, last_outcomes, has_spoken = answers - 1, [], False
            case "system":
                environment += _texts(content)
            case _:
                pass
    return Conversation(
        system=system,
        tools=frozenset(str(t.get("name")) for t in request.get("tools") or [] if isinstance(t, dict)),
        opening=opening,
        query=query,
        answers=answers,
        outcomes=outcomes,
        last_outcomes=last_outcomes,
        is_subagent=SUBAGENT_MARK in system,
        workspace=_workspace(environment),
    )


def _workspace(texts: Sequence[str]) -> str:
    """Find the session's folder in the description of the agent's environment."""
    for pattern in FOLDERS:
        for text in texts:
            if found := pattern.search(text):
                return found[1].rstrip(" .,;:)/")
    return ""


def _query_text(content: Any) -> str:
    """The text of a person in a user message; empty if it has only tool results or notes."""
    blocks = _blocks(content)
    has_results = any(block.get("type") == "tool_result" for block in blocks)
    texts: list[str] = []
    interrupted = False
    for block in blocks:
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            continue
        interrupted = interrupted or text.startswith(INTERRUPTED)
        if text.lstrip().startswith(NOT_A_QUERY) or (has_results and not interrupted):
            continue
        texts.append(text)
    return "\n".join(texts).strip()


def _outcomes(content: Any, calls: Mapping[str, tuple[str, Mapping[str, Any]]]) -> Iterator[ToolOutcome]:
    for block in _blocks(content):
        if block.get("type") == "tool_result":
            name, arguments = calls.get(str(block.get("tool_use_id")), ("", {}))
            text = "\n".join(_texts(block.get("content")))
            yield ToolOutcome(name, arguments, text, failed=bool(block.get("is_error")))


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []


def _texts(content: Any) -> list[str]:
    return [block["text"] for block in _blocks(content) if isinstance(block.get("text"), str)]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
