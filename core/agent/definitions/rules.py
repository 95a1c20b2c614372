"""Rules for sub-agents, read from their front matter: what must be true of the workspace before one may stop."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ua_tui.core.errors import PathRefused, SettingsError, WorkspaceError
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import FolderEntry
from ua_tui.core.storage.paths import split_path
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line, without_surrogates

_KEYS = ("name", "agents", "when", "requires", "checked", "message")
_LONGEST_NAME = 80
_LONGEST_CONDITION = 1_000
_LONGEST_MESSAGE = 2_000
_LONGEST_REQUEST = 100_000
_MOST_RULES = 50


class RequestPattern:
    """A regular expression on the request to a sub-agent, ignoring case.

    It is matched in linear time, so that no expression can block the session; look-around and back-references are not
    supported. Only the first 100,000 characters of a request are searched.

    Raises:
        ValueError: it is not a valid expression; the message says why.
    """

    def __init__(self, pattern: str) -> None:
        import re2  # type: ignore[import-untyped]

        options = re2.Options()
        options.case_sensitive = False
        options.max_mem = 1 << 20
        options.log_errors = False
        self.pattern = pattern
        try:
            self._compiled = re2.compile(pattern, options)
        except (re2.error, UnicodeEncodeError) as error:
            reason = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else str(error)
            raise ValueError(clean_line(reason, 200)) from error

    def holds(self, request: str) -> bool:
        """Whether the expression is found in `request`."""
        return self._compiled.search(without_surrogates(request[:_LONGEST_REQUEST])) is not None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for the sub-agent of its definition, or with `for_others` for every other one.

    The rule applies if `condition` is found in the request, or always if there is none. Then either `required` must be
    a file that is not empty, or the check of every report that matches `checked` must have found nothing unsupported.
    Both are paths in the workspace whose parts may have the wildcards `*`, `?` and `[...]`; one of them is empty.
    `message` is sent to the sub-agent unchanged, and never contains text of a tool or a page; what a check found
    follows it.
    """

    name: str
    agent: str
    required: str
    message: str
    condition: RequestPattern | None = field(default=None, compare=False)
    checked: str = ""
    for_others: bool = False

    def holds(self, agent: str, request: str) -> bool:
        """Whether the rule applies to `agent` for `request`."""
        return (self.agent == agent) != self.for_others and (
            self.condition is None or self.condition.holds(request)
        )


def matching_files(pattern: str, workspace: Workspace) -> Iterator[tuple[str, FolderEntry]]:
    """The files of the workspace that match a path of a rule, compressed or not, each with its path.

    Links, folders and empty files do not count.
    """
    yield from _matching(workspace, "", pattern.split("/"))


def _matching(workspace: Workspace, folder: str, parts: list[str]) -> Iterator[tuple[str, FolderEntry]]:
    head, *rest = parts
    try:
        entries = workspace.list(folder.removesuffix("/"))
    except (WorkspaceError, OSError):
        return
    for entry in entries:
        names = {entry.name, entry.name.removesuffix(SUFFIX)}
        if entry.is_dir != bool(rest) or not any(fnmatchcase(name, head) for name in names):
            continue
        if rest:
            yield from _matching(workspace, f"{folder}{entry.name}/", rest)
        elif entry.size > 0:
            yield f"{folder}{entry.name}", entry


def read_rules(value: Any, agent: str, *, origin: str) -> tuple[Rule, ...]:
    """Read the list under `compliance` in a sub-agent's front matter.

    Raises:
        SettingsError: the list or one of its rules is wrong; the message names `origin`, the rule, and what
            to write instead.
    """
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MOST_RULES:
        raise SettingsError(
            f"{origin}: compliance is not a list of at most {_MOST_RULES} rules: "
            "begin each with '- name:', then requires or checked, and message"
        )
    rules = [_read_rule(item, agent, f"{origin}: compliance rule {n}") for n, item in enumerate(value, 1)]
    names = [rule.name for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"{origin}: two compliance rules are named {name!r}: give each its own name")
    return tuple(rules)


def _read_rule(item: Any, agent: str, where: str) -> Rule:
    if not isinstance(item, Mapping):
        raise SettingsError(
            f"{where} is not a mapping: give it the keys name, requires or checked, and message"
        )
    for key in item:
        if key not in _KEYS:
            named = key if isinstance(key, str) else f"a {type(key).__name__}"
            close = difflib.get_close_matches(named, _KEYS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"a rule has {', '.join(_KEYS)}"
            raise SettingsError(f"{where} has the unknown key {clean_line(named, 60)!r}: {hint}")
    name = _text(item, "name", _LONGEST_NAME, where)
    where = f"{where} ({clean_line(name)})"
    forms = [key for key in ("requires", "checked") if item.get(key) is not None]
    if len(forms) > 1:
        raise SettingsError(f"{where} has both requires and checked: make two rules of it")
    if item.get("agents") not in (None, "others"):
        raise SettingsError(f"{where}: agents is not 'others': omit it for a rule for this sub-agent alone")
    path = _path(item, forms[0] if forms else "requires", where)
    is_check = forms == ["checked"]
    return Rule(
        name=clean_line(name),
        agent=agent,
        required="" if is_check else path,
        checked=path if is_check else "",
        message=_text(item, "message", _LONGEST_MESSAGE, where),
        condition=_condition(item, where),
        for_others=item.get("agents") is not None,
    )


def _text(item: Mapping[Any, Any], key: str, longest: int, where: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        raise SettingsError(f"{where} needs {key}: a text of at most {longest:,} characters")
    return value.strip()


def _condition(item: Mapping[Any, Any], where: str) -> RequestPattern | None:
    if item.get("when") is None:
        return None
    pattern = _text(item, "when", _LONGEST_CONDITION, where)
    try:
        return RequestPattern(pattern)
    except ValueError as error:
        raise SettingsError(
            f"{where}: when is not a regular expression without look-around and back-references ({error}): "
            "correct it, or omit it for a rule that always applies"
        ) from error


def _path(item: Mapping[Any, Any], key: str, where: str) -> str:
    path = _text(item, key, 1_000, where)
    try:
        parts = split_path(path)
    except PathRefused as error:
        raise SettingsError(f"{where}: {key} is not a path in the workspace: {error}") from error
    if "**" in parts:
        raise SettingsError(
            f"{where}: {key} has the part **, which is not supported: name each folder, or use *"
        )
    return path
