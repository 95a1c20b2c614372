"""The rules of a session: from options, settings and its dialogs, and those stored for its folder or everywhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.agent.permissions.proposals import rules_problem
from ua_tui.core.agent.permissions.rules import Effect, Origin, Rule, check
from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.sources import Place
from ua_tui.core.storage.folders import state_folder
from ua_tui.core.storage.json_store import JsonStore


class StoredRule(msgspec.Struct, frozen=True):
    """A rule as it is stored; `folder` is empty if it holds everywhere."""

    effect: Effect
    text: str
    server: str | None = None
    folder: str = ""

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

    def __init__(self, state: Path | None = None) -> None:
        self._store = JsonStore((state or state_folder()) / "permissions.json", _File, set_aside=True)
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
        entry = StoredRule(rule.effect, rule.text, rule.server, where)
        with self._store.changed() as file:
            file.rules = [each for each in file.rules if each != entry] + [entry]

    def remove(self, entry: StoredRule) -> bool:
        """Remove a rule; returns whether it was there.

        Raises:
            WorkspaceError: the file cannot be written.
        """
        with self._store.changed() as file:
            was_there = entry in file.rules
            file.rules = [each for each in file.rules if each != entry]
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
            used = dict(file.used)
            for rule, at in uses.items():
                # Of two uses of a rule the later one counts.
                used[_key(rule)] = max(at, used.get(_key(rule), at))
            file.used = dict(sorted(used.items(), key=lambda item: item[1])[-1_000:])

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
            self._report(f"A stored rule is ignored, because it is not valid: {unusable}")
        return _File(usable, file.used)

    def _report(self, problem: str) -> None:
        if problem != self.problem:
            self.problem = problem
            log.warning("%s", problem)


def _key(rule: Rule) -> str:
    return " ".join(filter(None, (rule.effect, rule.text, rule.server)))


Scope = Literal["session", "folder", "everywhere"]
SCOPES: tuple[Scope, ...] = ("session", "folder", "everywhere")
NO_RULES = "No rules yet: you are asked about calls that can change or send something."
# The files of a folder may not set any rule.
_ORIGINS: dict[Place | None, Origin] = {"option": "option", "environment": "environment"}


def rules_of(settings: Settings, demo: Iterable[str] = ()) -> Iterator[Rule]:
    """The rules of options and settings, and those that the demo needs."""
    given: dict[Effect, tuple[str, ...]] = {
        "allow": settings.allow,
        "ask": settings.ask,
        "deny": settings.deny,
    }
    for effect, texts in given.items():
        for text in texts:
            place = settings.rule_places.get((effect, text), settings.places.get(effect))
            yield Rule(effect, text, _ORIGINS.get(place, "config.toml"))
    yield from (Rule("allow", text, "demo") for text in demo)


class RuleSet(msgspec.Struct, eq=False):
    """All rules that hold now. A rule that another program stores or removes counts at once.

    Args:
        given: the rules of options and settings.
        store: where the rules of a folder and of everywhere are; None if there are none.
        folder: the folder of the session's user, to which rules may be limited.
    """

    given: Iterable[Rule] = ()
    store: RuleStore | None = None
    folder: Path = Path()
    _session: list[Rule] = []
    _used: dict[Rule, datetime] = {}
    _has_unsaved: bool = False
    _saved_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.given = tuple(self.given)
        for rule in self.given:
            if (problem := check(rule.text)) is not None:
                raise SettingsError(
                    f"{rule.effect} has the rule {rule.text}, which cannot be used. {problem}"
                )

    def __iter__(self) -> Iterator[Rule]:
        yield from self.given
        yield from list(self._session)
        if self.store is not None:
            yield from (each.rule for each in self.store.rules(self.folder))

    @property
    def problem(self) -> str:
        """What is wrong with the stored rules; empty if nothing is."""
        return self.store.problem if self.store is not None else ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """For how long a rule can be added."""
        return SCOPES if self.store is not None else SCOPES[:1]

    def remember(
        self, actions: Sequence[Action], scope: str, texts: Sequence[str], folder: Path
    ) -> str | None:
        """Allow what a person allowed in the dialog about actions of one server; returns why that is not possible.

        Relative paths in the actions begin at `folder`.
        """
        origin = next((each for each in self.scopes if each == scope), None)
        if origin is None:
            return f"there is no scope {scope}"
        problem = rules_problem(texts, actions, folder, origin)
        if problem is not None:
            return f"the rule was rejected: {problem}"
        rules = [Rule("allow", text, origin, actions[0].server) for text in texts]
        if origin == "session":
            self._session += [rule for rule in rules if rule not in self._session]
        else:
            try:
                for rule in rules:
                    if self.store is not None:
                        self.store.add(rule, self.folder if origin == "folder" else None)
            except (WorkspaceError, OSError) as error:
                return f"the rule could not be stored: {error}"
        for rule in rules:
            # It allows the call in question.
            self.note_used(rule)
        return None

    def remove(self, rule: Rule) -> str | None:
        """Remove a rule of a dialog; returns why that is not possible."""
        if rule in self._session:
            self._session.remove(rule)
            return None
        if rule in self.given or self.store is None:
            return "it comes from an option or the settings: change it there"
        try:
            for entry in self.store.rules(self.folder):
                if entry.rule == rule:
                    self.store.remove(entry)
        except (WorkspaceError, OSError) as error:
            return f"it could not be removed: {error}"
        return None

    def last_used(self, rule: Rule) -> datetime | None:
        """When a rule last decided a call, in this session or before."""
        stored = self.store.last_used(rule) if self.store is not None else None
        return self._used.get(rule) or stored

    def note_used(self, rule: Rule) -> None:
        """Record that a rule decided a call just now; `save_uses` stores it."""
        self._used[rule] = datetime.now(UTC)
        self._has_unsaved = True

    @property
    def has_unsaved_uses(self) -> bool:
        """Whether uses should be stored now: at once for the first one, then at most once a minute."""
        return self._has_unsaved and time.monotonic() - self._saved_at > 60.0

    def save_uses(self) -> None:
        """Store when rules were last used; a failure loses nothing else."""
        unsaved, self._has_unsaved, self._saved_at = self._has_unsaved, False, time.monotonic()
        if unsaved and self.store is not None:
            try:
                self.store.note_used(dict(self._used))
            except (WorkspaceError, OSError):
                self._has_unsaved = True
