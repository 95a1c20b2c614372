"""Turns the filters of a search into conditions of SQL on the table `document`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ua_tui.core.knowledge.search.query import SearchQuery

_ESCAPED = str.maketrans({"%": r"\%", "_": r"\_", "\\": "\\\\"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a caller searches in; the filters of the query narrow it further.

    Attributes:
        demo: only sessions of the demo, or only others; None for all.
        session: only the session with this folder.
        without_session: all sessions but the one with this folder.
    """

    demo: bool | None = None
    kinds: Sequence[str] = ()
    sites: Sequence[str] = ()
    session: str = ""
    without_session: str = ""
    since: float | None = None
    until: float | None = None


@dataclass(slots=True)
class Conditions:
    """Conditions that must all hold, and their values."""

    clauses: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    def add(self, clause: str, *values: object) -> None:
        """Add a condition."""
        self.clauses.append(clause)
        self.values += values

    def add_any(self, clause: str, choices: Iterable[Sequence[object]], around: str = "{}") -> None:
        """Add the condition that one of several holds, unless there are none."""
        every = list(choices)
        if every:
            self.add(
                around.format(" OR ".join([clause] * len(every))),
                *(value for each in every for value in each),
            )

    def sql(self, first: str = "AND") -> str:
        """The conditions as they follow others, or with "WHERE" if there are no others."""
        return f" {first} {' AND '.join(f'({clause})' for clause in self.clauses)}" if self.clauses else ""


def conditions_of(query: SearchQuery, scope: Scope) -> Conditions:
    """Give the conditions on `document` (as `d`) that the filters of a query and of its caller make."""
    found = Conditions()
    for kinds in (query.kinds, tuple(scope.kinds)):
        found.add_any("d.kind = ?", [(kind,) for kind in kinds])
    for sites in (query.sites, tuple(scope.sites)):
        found.add_any(
            "instr('.' || site || '.', ?)",
            [(site_of(site),) for site in sites],
            # Asked for each document that matches: to ask it of all sources first takes longer than the search.
            "EXISTS (SELECT 1 FROM source WHERE source.id = d.source AND ({}))",
        )
    found.add_any(
        r"folder LIKE ? ESCAPE '\' OR title LIKE ? ESCAPE '\'",
        [(like, like) for like in map(containing, query.sessions)],
        "d.session IN (SELECT id FROM session WHERE {})",
    )
    found.add_any(
        r"tool LIKE ? ESCAPE '\' OR slug LIKE ? ESCAPE '\'",
        [(like, like) for like in map(containing, query.tools)],
        "d.call IN (SELECT id FROM call WHERE {})",
    )
    if scope.session:
        found.add("d.session = (SELECT id FROM session WHERE folder = ?)", scope.session)
    if scope.without_session:
        found.add("d.session NOT IN (SELECT id FROM session WHERE folder = ?)", scope.without_session)
    if scope.demo is not None:
        found.add("d.session IN (SELECT id FROM session WHERE demo = ?)", scope.demo)
    for since in (query.since, scope.since):
        if since is not None:
            found.add("d.made_at >= ?", since)
    for until in (query.until, scope.until):
        if until is not None:
            found.add("d.made_at <= ?", until)
    return found


def site_of(text: str) -> str:
    """A host, a part of one, or an address, as it is in a host between full stops."""
    host = text.lower().split("//")[-1].split("/")[0]
    return f".{host.removeprefix('www.').strip('.')}."


def containing(text: str) -> str:
    """The pattern of LIKE for what contains a text."""
    return f"%{text.translate(_ESCAPED)}%"
