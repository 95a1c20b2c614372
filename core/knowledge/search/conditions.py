"""The filters of a search, and the conditions of SQL that they are on the table `document`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ua_tui.core.knowledge.records import Kind
from ua_tui.core.knowledge.search.database import Filters
from ua_tui.core.knowledge.search.query import SearchQuery
from ua_tui.core.text import without_surrogates

_ESCAPED = str.maketrans({"%": r"\%", "_": r"\_", "\\": "\\\\"})


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


def filters_of(
    query: SearchQuery,
    *,
    kinds: Sequence[Kind] = (),
    sites: Sequence[str] = (),
    session: str = "",
    without_session: str = "",
    demo: bool | None = None,
    since: float | None = None,
    until: float | None = None,
) -> Filters:
    """Give the filters of a query together with those of its caller."""
    return Filters(
        kinds=tuple(each for each in (query.kinds, tuple(kinds)) if each),
        sites=tuple(tuple(map(site_of, each)) for each in (query.sites, sites) if each),
        sessions=query.sessions,
        tools=query.tools,
        session=without_surrogates(session),
        without_session=without_surrogates(without_session),
        demo=demo,
        since=max((each for each in (query.since, since) if each is not None), default=None),
        until=min((each for each in (query.until, until) if each is not None), default=None),
        published=query.published,
    )


def conditions_of(filters: Filters) -> Conditions:
    """Give the conditions on `document` (as `d`) that filters make."""
    found = Conditions()
    for kinds in filters.kinds:
        found.add_any("d.kind = ?", [(kind,) for kind in kinds])
    for sites in filters.sites:
        found.add_any(
            "instr('.' || site || '.', ?)",
            [(site,) for site in sites],
            # Asked for each document that matches: to ask it of all sources first takes longer than the search.
            "EXISTS (SELECT 1 FROM source WHERE source.id = d.source AND ({}))",
        )
    found.add_any(
        r"folder LIKE ? ESCAPE '\' OR title LIKE ? ESCAPE '\'",
        [(like, like) for like in map(containing, filters.sessions)],
        "d.session IN (SELECT id FROM session WHERE {})",
    )
    found.add_any(
        r"tool LIKE ? ESCAPE '\' OR slug LIKE ? ESCAPE '\'",
        [(like, like) for like in map(containing, filters.tools)],
        "d.call IN (SELECT id FROM call WHERE {})",
    )
    if filters.session:
        found.add("d.session = (SELECT id FROM session WHERE folder = ?)", filters.session)
    if filters.without_session:
        found.add("d.session NOT IN (SELECT id FROM session WHERE folder = ?)", filters.without_session)
    if filters.demo is not None:
        found.add("d.session IN (SELECT id FROM session WHERE demo = ?)", filters.demo)
    if filters.since is not None:
        found.add("d.made_at >= ?", filters.since)
    if filters.until is not None:
        found.add("d.made_at <= ?", filters.until)
    for first, last in filters.published:
        found.add(
            "d.date GLOB '[12][0-9][0-9][0-9]*' AND substr(d.date, 1, 10) BETWEEN ? AND ?", first, last or "9"
        )
    return found


def site_of(text: str) -> str:
    """A host, a part of one, or an address, as it is in a host between full stops."""
    host = text.lower().split("//")[-1].split("/")[0]
    return f".{host.removeprefix('www.').strip('.')}."


def containing(text: str) -> str:
    """The pattern of LIKE for what contains a text."""
    return f"%{text.translate(_ESCAPED)}%"
