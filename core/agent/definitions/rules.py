"""Rules for sub-agents, read from their front matter: what must be true of the workspace before one may stop."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ua_tui.core.agent.bounds import LONGEST_PROMPT, MOST_PARTS
from ua_tui.core.agent.definitions.files import converted
from ua_tui.core.errors import PathRefused, SettingsError, WorkspaceError
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import FolderEntry
from ua_tui.core.storage.paths import split_path
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line, without_surrogates

_Text = Annotated[str, Meta(pattern=r"\S", max_length=2_000)]


@cache
def _compiled(pattern: str) -> Any:
    """A regular expression on the request to a sub-agent, ignoring case; its library is slow to import.

    It is matched in linear time, so that no expression can block the session; look-around and back-references are not
    supported.

    Raises:
        ValueError: it is not a valid expression; the message says why.
    """
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = 1 << 20
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error, re2.error) else str(error)
        raise ValueError(clean_line(reason, 200)) from error


class SubagentRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule as a file has it, for the sub-agent of its definition, or with `agents` for every other one.

    The rule applies if the expression `when` is found in the request (in its first 100,000 characters, ignoring case),
    or always if there is none. Then either `requires` must be a file that is not empty, or no check of a report that
    matches `checked` may have found what differs or was never seen.
    Both are paths in the workspace whose parts may have the wildcards `*`, `?` and `[...]`; one of them is missing.
    `message` is sent to the sub-agent unchanged, and never contains text of a tool or a page; what a check found
    follows it. `agent` is the name of the sub-agent whose definition has the rule.
    """

    name: Annotated[str, Meta(pattern=r"\S", max_length=80)]
    message: _Text
    requires: _Text | None = None
    checked: _Text | None = None
    when: _Text | None = None
    agents: Literal["others"] | None = None
    agent: str = ""

    def holds(self, agent: str, request: str) -> bool:
        """Whether the rule applies to `agent` for `request`."""
        return (self.agent == agent) == (self.agents is None) and (
            self.when is None
            or _compiled(self.when).search(without_surrogates(request[:LONGEST_PROMPT])) is not None
        )


class UnmetRule(msgspec.Struct, frozen=True):
    """A rule that a sub-agent has not met: its name, the message to the sub-agent, and one line for the person.

    Below its first line the message has one for each finding. `reason` says why, without words of a source.
    """

    name: str
    message: str
    finding: str = ""
    reason: str = ""


def matching_files(pattern: str, workspace: Workspace, folder: str = "") -> Iterator[tuple[str, FolderEntry]]:
    """The files of the workspace that match a path of a rule, compressed or not, each with its path.

    Links, folders and empty files do not count. The path of the rule begins at `folder`.
    """
    head, _, rest = pattern.partition("/")
    try:
        entries = workspace.list(folder.removesuffix("/"))
    except (WorkspaceError, OSError):
        return
    for entry in entries:
        names = {entry.name, entry.name.removesuffix(SUFFIX)}
        if entry.is_dir != bool(rest) or not any(fnmatchcase(name, head) for name in names):
            continue
        if rest:
            yield from matching_files(rest, workspace, f"{folder}{entry.name}/")
        elif entry.size > 0:
            yield f"{folder}{entry.name}", entry


def read_rules(value: Any, agent: str, *, origin: str, compiled: bool = True) -> tuple[SubagentRule, ...]:
    """Read the list under `compliance` in a sub-agent's front matter; only expressions that are `compiled` are checked.

    Raises:
        SettingsError: the list or one of its rules is wrong; the message names `origin`.
    """
    where = f"compliance of {origin}"
    given: list[SubagentRule] = converted(
        value or [], Annotated[list[SubagentRule], Meta(max_length=MOST_PARTS)], where
    )
    rules = [_rule(each, agent, f"rule {each.name} of {origin}", compiled=compiled) for each in given]
    if len({rule.name for rule in rules}) < len(rules):
        raise SettingsError(f"{where} has two rules with the same name: rename one")
    return tuple(rules)


def _rule(fields: SubagentRule, agent: str, where: str, *, compiled: bool) -> SubagentRule:
    if fields.agent:
        raise SettingsError(f"{where} has the unknown field `agent`")
    if (fields.requires is None) == (fields.checked is None):
        raise SettingsError(f"{where} needs one of the fields requires and checked")
    path = fields.requires or fields.checked or ""
    try:
        if "**" in split_path(path):
            raise SettingsError(
                f"{where} has the path {path} with the part **, which is not supported: name each folder, or use *"
            )
        if fields.when and compiled:
            _compiled(fields.when)
    except PathRefused as error:
        raise SettingsError(f"{where} has the path {path}, which is not in the workspace: {error}") from error
    except ValueError as error:
        raise SettingsError(
            f"the `when` of {where} is not a valid regular expression, or uses look-around or back-references "
            f"({error}). Correct it, or omit it for a rule that always applies"
        ) from error
    message = fields.message.strip()
    return msgspec.structs.replace(fields, name=clean_line(fields.name), message=message, agent=agent)
