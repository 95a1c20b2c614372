"""The rules that a person allowed for a folder or everywhere, in a file of the user's state."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ua_tui.core.agent.permissions.rules import Effect, Rule, check
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import JsonStore

_log = logging.getLogger(__name__)


class StoredRule(msgspec.Struct, frozen=True):
    """A rule as it is stored; `folder` is empty if it holds everywhere."""

    effect: Effect
    text: str
    added: datetime
    server: str | None = None
    folder: str = ""

    def same(self, other: StoredRule) -> bool:
        """Whether both are the same rule for the same folder, whenever they were added."""
        return (self.rule, self.folder) == (other.rule, other.folder)

    @property
    def rule(self) -> Rule:
        """The rule itself."""
        return Rule(self.effect, self.text, "folder" if self.folder else "everywhere", self.server)


class _File(msgspec.Struct):
    rules: list[StoredRule] = []
    used: dict[str, datetime] = {}


class RuleStore:
    """Rules in a file in `state`, by default the state folder of the program; several programs may use it at once.

    A file that cannot be read is set aside: its rules are gone from then on, and `problem` says so.
    """

    def __init__(
        self, state: Path | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._store = JsonStore((state or state_folder()) / "permissions.json", _File, set_aside=True)
        self._now = now
        self.problem = ""

    def rules(self, folder: Path | None = None) -> list[StoredRule]:
        """The rules that hold in a folder, or all of them."""
        stored = self._read().rules
        if folder is None:
            return list(stored)
        here = str(folder.resolve())
        return [each for each in stored if each.folder in {"", here}]

    def add(self, rule: Rule, folder: Path | None) -> None:
        """Store a rule for a folder, or for everywhere.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        where = str(folder.resolve()) if folder is not None else ""
        entry = StoredRule(rule.effect, rule.text, self._now(), rule.server, where)
        with self._store.changed() as file:
            file.rules = [each for each in file.rules if not each.same(entry)] + [entry]

    def remove(self, entry: StoredRule) -> bool:
        """Remove a rule; returns whether it was there.

        Raises:
            WorkspaceError: the file cannot be written.
        """
        with self._store.changed() as file:
            rest = [each for each in file.rules if not each.same(entry)]
            was_there = len(rest) < len(file.rules)
            file.rules = rest
        return was_there

    def last_used(self, rule: Rule) -> datetime | None:
        """When the rule last decided a call, in any session; None if it never did."""
        return self._read().used.get(_key(rule))

    def note_used(self, uses: Mapping[Rule, datetime]) -> None:
        """Record when rules decided a call.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        with self._store.changed() as file:
            used = {**file.used, **{_key(rule): at for rule, at in uses.items()}}
            newest = sorted(used.items(), key=lambda item: item[1])[-1_000:]
            file.used = dict(newest)

    def _read(self) -> _File:
        try:
            file = self._store.read()
        except WorkspaceError as error:
            self._report(f"The stored permissions are not used: {error}")
            return _File()
        if self._store.problem:
            self._report(f"The stored permissions could not be read: {self._store.problem}")
        usable = [each for each in file.rules if check(each.text) is None]
        if len(usable) < len(file.rules):
            unusable = next(each.text for each in file.rules if each not in usable)
            self._report(f"A stored rule is not used, because it is not written as a rule: {unusable}")
        return _File(usable, file.used)

    def _report(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            _log.warning("%s", problem)


def _key(rule: Rule) -> str:
    return " ".join(filter(None, (rule.effect, rule.text, rule.server)))
