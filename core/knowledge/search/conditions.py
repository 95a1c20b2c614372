"""The filters of a search as conditions on documents, which each database writes in its SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ua_tui.core.knowledge.index.preparing import storable
from ua_tui.core.knowledge.records import Kind
from ua_tui.core.knowledge.search.database import Filters
from ua_tui.core.knowledge.search.query import SearchQuery

_ESCAPED = str.maketrans({"%": r"\%", "_": r"\_", "\\": "\\\\"})


def filters_of(
    query: SearchQuery,
    *,
    kinds: Sequence[Kind] = (),
    sites: Sequence[str] = (),
    session: str = "",
    without_session: str = "",
    demo: bool | None = None,
    since: float | None = None,
    source: str = "",
) -> Filters:
    """Give the filters of a query together with those of its caller; `source` is a canonical address."""
    pairs: list[tuple[str, Iterable[object]]] = [
        ("kind", query.kinds),
        ("kind", kinds),
        ("site", map(_site, query.sites)),
        ("site", map(_site, sites)),
        ("session_like", map(_containing, query.sessions)),
        ("tool_like", map(_containing, query.tools)),
        ("session", [storable(session)] * bool(session)),
        ("without_session", [storable(without_session)] * bool(without_session)),
        ("demo", [] if demo is None else [demo]),
        ("source", [storable(source)] * bool(source)),
        *(("since", [moment]) for moment in (query.since, since) if moment is not None),
        *(("until", [moment]) for moment in [query.until] if moment is not None),
    ]
    for first, last in query.published:
        pairs += [("published_since", [first]), ("published_until", [last or "9"])]
    return [(name, values) for name, choices in pairs if (values := [*choices])]


def _site(text: str) -> str:
    """A host, a part of one, or an address, as it is in a host between full stops."""
    host = text.lower().split("//")[-1].split("/")[0]
    return f".{storable(host).removeprefix('www.').strip('.')}."


def _containing(text: str) -> str:
    """The pattern of LIKE for what contains a text."""
    return f"%{storable(text).translate(_ESCAPED)}%"
