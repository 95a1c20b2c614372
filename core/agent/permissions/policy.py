"""Which tool calls run, which are denied and which wait for a person's answer.

Rules apply to what a call would really run: a call that wraps others (`MULTI_EXECUTE`) is judged by every tool inside
it, so that a rule on the wrapper's name never allows anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from core.agent.permissions.patterns import SessionPattern, exact_pattern, pattern_problem, server_of

__all__ = [
    "Judgement",
    "PermissionPolicy",
    "Verdict",
    "can_be_remembered",
    "is_outbound",
    "is_search",
    "short_name",
    "subjects_of",
]


class Verdict(StrEnum):
    """What happens to a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True)
class Judgement:
    """A verdict, its reason, and the tools it is about."""

    verdict: Verdict
    reason: str
    subjects: tuple[str, ...] = ()


CONTAINED = frozenset(
    {
        "mcp__local_toolkit__crawl_parallel",
        "mcp__local_toolkit__save_corpus",
        "mcp__local_toolkit__write_local_file",
        "mcp__local_toolkit__read_local_file",
        "mcp__local_toolkit__list_directory",
        # It only downloads a file; uploads ask.
        "mcp__local_toolkit__workbench_download",
    }
)
PLANNABLE = frozenset({"mcp__local_toolkit__read_local_file", "mcp__local_toolkit__list_directory"})
HARMLESS = frozenset({"Agent", "Skill", "Task", "TodoWrite", "ToolSearch", "WebSearch"})
PAGE_READERS = frozenset({"mcp__web_reader__webReader"})
READERS = {"Read": "file_path", "Glob": "path", "Grep": "path"}
WRAPPERS = ("MULTI_EXECUTE",)
WRITERS = frozenset({"Write", "Edit"})
# Allowing any of these would allow everything, so a permission is valid for one call only.
OPEN_ENDED = (
    "BASH",
    "WRITE",
    "EDIT",
    "WEBFETCH",
    "READ",
    "GLOB",
    "GREP",
    "REMOTE_",
    "PROXY_EXECUTE",
    *WRAPPERS,
)
HOUSEKEEPING = frozenset(
    {
        "COMPOSIO_SEARCH_TOOLS",
        "COMPOSIO_GET_TOOL_SCHEMAS",
        "COMPOSIO_MANAGE_CONNECTIONS",
        "COMPOSIO_WAIT_FOR_CONNECTIONS",
    }
)
# The server whose tools have the names above and below; other servers may use any names.
_ROUTER = "composio"
SEARCH_TOOLKITS = (
    "COMPOSIO_SEARCH_",
    "SERPAPI_",
    "SERPER_",
    "TAVILY_",
    "EXA_",
    "BRAVE_",
    "BRAVE_SEARCH_",
    "PERPLEXITYAI_",
    "LINKUP_",
    "YOU_SEARCH",
    "FIRECRAWL_SEARCH",
)
OUTBOUND_WORDS = frozenset(
    {
        "SEND", "POST", "CREATE", "DELETE", "UPLOAD", "REMOVE", "UPDATE", "REPLY", "FORWARD", "SHARE",
        "PUBLISH", "INVITE", "MERGE", "PUT", "PATCH", "WRITE", "MOVE", "TRASH", "ARCHIVE", "DRAFT", "ADD",
    }
)  # fmt: skip


def short_name(tool_name: str) -> str:
    """The tool's own name without its MCP server: `mcp__composio__X` is `X`."""
    if tool_name.startswith("mcp__"):
        return tool_name.split("__", 2)[-1]
    return tool_name


def subjects_of(tool_name: str, tool_input: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the tools a call would really run: those inside a wrapper, else the tool itself.

    A wrapper whose content cannot be read counts as itself, which no rule allows.
    """
    name = short_name(tool_name)
    if not _is_wrapper(name):
        return (name,)
    inner = tool_input.get("tools")
    found: list[str] = []
    for item in inner if isinstance(inner, list) else []:
        slug = item.get("tool_slug") if isinstance(item, dict) else None
        if not isinstance(slug, str) or not slug or _is_wrapper(slug):
            return (name,)
        found.append(slug)
    return tuple(dict.fromkeys(found)) or (name,)


def _is_wrapper(name: str) -> bool:
    return any(word in name.upper() for word in WRAPPERS)


def _words(subject: str) -> set[str]:
    return set(re.split(r"[^A-Z0-9]+", subject.upper()))


def is_outbound(subject: str) -> bool:
    """Whether a tool changes something outside the workspace or sends something to somebody."""
    return not _words(subject).isdisjoint(OUTBOUND_WORDS)


def can_be_remembered(subject: str) -> bool:
    """Whether a permission may last for the session: not for tools that act outside, or that can do anything."""
    return not is_outbound(subject) and not any(word in subject.upper() for word in OPEN_ENDED)


def is_search(subject: str) -> bool:
    """Whether a tool only searches the public web."""
    return subject.upper().startswith(SEARCH_TOOLKITS) and not is_outbound(subject)


@dataclass
class PermissionPolicy:
    """Judges calls; remembers what a person allowed for the session.

    `allow` has shell-style patterns, matched against the full tool name, its short name and the inner subjects. The
    built-in readers may see only `workspace` and the folders `readable`. In the mode `plan` nothing is written, in
    `acceptEdits` files of the workspace may be.
    """

    workspace: Path
    allow: tuple[str, ...] = ()
    skip_all: bool = False
    mode: str = "default"
    readable: tuple[Path, ...] = ()
    _allowed_for_session: set[SessionPattern] = field(default_factory=set)

    def judge(self, tool_name: str, tool_input: Mapping[str, Any]) -> Judgement:
        """Decide what happens to a call."""
        subjects = subjects_of(tool_name, tool_input)
        if self.skip_all:
            return Judgement(Verdict.ALLOW, "every permission check is switched off", subjects)
        if self.mode == "plan" and (tool_name in CONTAINED - PLANNABLE or tool_name in WRITERS):
            return Judgement(Verdict.DENY, "nothing is written in plan mode", subjects)
        if any(_is_wrapper(subject) for subject in subjects):
            return Judgement(Verdict.ASK, "what it would run cannot be determined", subjects)
        if (
            tool_name in WRITERS
            and self.mode == "acceptEdits"
            and self._is_inside(tool_input.get("file_path"))
        ):
            return Judgement(Verdict.ALLOW, "it edits inside the workspace", subjects)
        if tool_name in CONTAINED:
            return Judgement(Verdict.ALLOW, "its files stay in the workspace", subjects)
        if tool_name in PAGE_READERS:
            return Judgement(Verdict.ALLOW, "it reads a public page, as the crawler does", subjects)
        if tool_name in HARMLESS:
            return Judgement(Verdict.ALLOW, "it changes nothing", subjects)
        if tool_name in READERS:
            return self._judge_reader(tool_name, tool_input, subjects)
        server = server_of(tool_name)
        if all(self._is_free(server, subject) for subject in subjects):
            return Judgement(Verdict.ALLOW, "it only searches or asks what can be done", subjects)
        if all(self._matches(tool_name, subject) for subject in subjects):
            return Judgement(Verdict.ALLOW, "an allow pattern names it", subjects)
        if all(self._is_remembered(server, s) or self._is_free(server, s) for s in subjects):
            return Judgement(Verdict.ALLOW, "allowed for this session", subjects)
        waiting = [s for s in subjects if not self._is_free(server, s)]
        if any(is_outbound(subject) for subject in waiting):
            return Judgement(Verdict.ASK, "it can change something outside the workspace", subjects)
        return Judgement(Verdict.ASK, "it is not among the contained tools", subjects)

    def remember(self, tool_name: str, subjects: Iterable[str], patterns: Iterable[str] = ()) -> str | None:
        """Allow tools of `tool_name`'s server for the rest of the session: `subjects`, or the matches of `patterns`.

        Returns why that is not possible; then nothing is remembered.
        """
        asked = tuple(subjects)
        if not all(can_be_remembered(subject) for subject in asked):
            return "it can do too much to be allowed in advance: it asks each time"
        written = tuple(patterns) or tuple(exact_pattern(subject) for subject in asked)
        if (problem := pattern_problem(written, asked)) is not None:
            return f"the pattern was rejected: {problem}"
        self._allowed_for_session.update(SessionPattern(server_of(tool_name), each) for each in written)
        return None

    def _is_remembered(self, server: str, subject: str) -> bool:
        return can_be_remembered(subject) and any(
            each.covers(server, subject) for each in self._allowed_for_session
        )

    def _judge_reader(
        self, tool_name: str, tool_input: Mapping[str, Any], subjects: tuple[str, ...]
    ) -> Judgement:
        asked = tool_input.get(READERS[tool_name]) or "."
        pattern = tool_input.get("pattern") if tool_name == "Glob" else None
        inside = any(self._is_inside(asked, root) for root in (self.workspace, *self.readable))
        if inside and isinstance(pattern, str) and (pattern.startswith(("/", "~")) or ".." in pattern):
            inside = False
        if inside:
            return Judgement(Verdict.ALLOW, "it reads inside the workspace", subjects)
        if any(self._matches(tool_name, subject) for subject in subjects):
            return Judgement(Verdict.ALLOW, "an allow pattern names it", subjects)
        return Judgement(Verdict.ASK, "it reads outside the workspace", subjects)

    def _is_inside(self, asked: object, folder: Path | None = None) -> bool:
        # The agent trims blanks and expands `~` before it opens a path.
        if not isinstance(asked, str) or asked != asked.strip() or asked.startswith("~"):
            return False
        try:
            return (
                (self.workspace.resolve() / asked)
                .resolve()
                .is_relative_to((folder or self.workspace).resolve())
            )
        except (OSError, ValueError, RuntimeError):
            return False

    def _is_free(self, server: str, subject: str) -> bool:
        return server == _ROUTER and (subject in HOUSEKEEPING or is_search(subject))

    def _matches(self, tool_name: str, subject: str) -> bool:
        wrapped = subject != short_name(tool_name)
        names = (subject,) if wrapped else (subject, tool_name)
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.allow)
