"""A comparison as rows: a table of both sessions, their queries side by side, then what only one of them has.

A line with `-` is of A alone, with `+` of B alone, as in the texts of the reports below; `~` marks what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import set_cell_size
from textual.content import Content

from ua_tui.core.claims.changes import ClaimChanges
from ua_tui.core.claims.records import Claim
from ua_tui.core.events.units import duration, money, quantity, tokens
from ua_tui.core.text import clean_line
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.comparison.sessions import (
    ComparedQuery,
    ComparedSession,
    Comparison,
    PageChanges,
)
from ua_tui.tui.render.format import moment, tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.text import fold_points
from ua_tui.tui.viewers.compare.body import DifferenceBody, describe_counts
from ua_tui.tui.viewers.compare.difference import Difference
from ua_tui.tui.viewers.document import Body, JoinedBody, Landmark, ListRows, joined, row_text, styled

_LABEL, _GAP, _WIDEST = 9, 2, 72
"""Cells of the names of rows, between columns, and of a column at most."""
_MOST_LINES = 6
"""Lines of a query that are shown."""
_UNKNOWN = "–"
_ROLES = {"-": "removed-sign", "+": "added-sign", "~": "warn", "=": "dim"}

Side = tuple[str, str]
"""A text of A or B, and its role."""


def comparison_body(comparison: Comparison, difference: Difference | None) -> Body:
    """The body of a comparison; the texts of the reports are compared below it, if there are two that differ."""
    head = ComparisonBody(comparison)
    if difference is None or not difference.changes:
        return head
    return JoinedBody((head, DifferenceBody(difference)))


def comparison_lines(comparison: Comparison, difference: Difference | None, width: int) -> Iterator[str]:
    """The same as plain lines of at most `width` cells, for the command line."""
    rows = comparison_body(comparison, difference).lay_out(width, MarkdownTheme())
    for number in range(len(rows)):
        yield row_text(rows.row(number)).rstrip()


@dataclass
class ComparisonBody(Body):
    """What two sessions have in common and what not, but for the texts of their reports."""

    comparison: Comparison

    def lay_out(self, width: int, theme: MarkdownTheme) -> ListRows:
        """Lay the sections out."""
        both = self.comparison
        rows = list(_facts(both, width))
        landmarks: list[Landmark] = []
        sections = (
            ("Queries", _queries(both, width)),
            (
                f"Pages read: {len(both.pages.both):,} in common, {len(both.pages.only_a):,} only in A, "
                f"{len(both.pages.only_b):,} only in B",
                _pages(both.pages, width),
            ),
            (_claims_title(both), _claims(both.claims, width)),
            (_text_title(both), ()),
        )
        for title, lines in sections:
            rows.append(Content(""))
            landmarks.append(Landmark(len(rows), title))
            rows += [*_wrapped("", title, width, "heading"), *lines]
        return ListRows(rows, landmarks)


# -- the table ------------------------------------------------------------------------------------


def _facts(both: Comparison, width: int) -> Iterator[Content]:
    a, b = both.a, both.b
    yield from _row("", ("- A", "removed-sign"), ("+ B", "added-sign"), width)
    others = _session_facts(b)
    # Of what runs, a part says nothing.
    if "running" not in (a.state, b.state):
        others["cost"] += _share(a.cost_usd, b.cost_usd)
        others["tokens"] += _share(a.tokens, b.tokens)
        others["time"] += _share(a.seconds, b.seconds)
    for label, one in _session_facts(a).items():
        # What is equal recedes.
        role = "dim" if one == others[label] else ""
        yield from _row(label, (one, role), (others[label], role), width)
    for letter, notices in (("A", a.notices), ("B", b.notices), ("", both.notices)):
        for notice in notices:
            yield from _wrapped("", f"{letter}: {notice}" if letter else notice, width, "warn")


def _session_facts(session: ComparedSession) -> dict[str, str]:
    """What the table says of a session, by the names of the rows."""
    cost = money(session.cost_usd, is_estimated=session.cost_is_estimated) or "?"
    if session.inherited_usd and cost != "?":
        cost += f", {money(session.inherited_usd)} inherited"
    claims = _UNKNOWN if session.claims is None else f"{session.claims:,} not counting links"
    return {
        "session": session.session,
        "state": f"{session.state}, demo" if session.demo else session.state,
        "started": (session.started is not None and moment(session.started)) or _UNKNOWN,
        "model": session.model or _UNKNOWN,
        "queries": f"{session.queries:,}{_counted(session.undone, 'undone')}",
        "calls": f"{session.calls:,}{_counted(session.failed_calls, 'failed')}",
        "cost": cost,
        "tokens": tokens(session.tokens),
        "time": duration(session.seconds),
        "pages": f"{session.pages:,}",
        "claims": claims + ("" if session.claims is None else _counted(session.doubtful, "doubtful")),
        "report": session.report or _UNKNOWN,
    }


def _counted(number: int, what: str) -> str:
    return f", {number:,} {what}" if number else ""


def _share(a: float | None, b: float | None) -> str:
    """How much more or less B is, in percent, or how many times as much."""
    if not a or b is None or round(b / a, 2) == 1:
        return ""
    return f" ({b / a - 1:+.0%})" if b / a < 2 else f" ({b / a:,.1f}×)"


def _row(label: str, a: Side, b: Side, width: int) -> Iterator[Content]:
    """The lines of a row with both sides in columns."""
    column = min(_WIDEST, max(8, (width - _LABEL - _GAP) // 2))
    sides = [_folded(text, column - 1) for text, _ in (a, b)]
    for number, (one, other) in enumerate(zip_longest(*sides, fillvalue="")):
        yield joined(
            (
                (set_cell_size("" if number else label, _LABEL), "dim"),
                (set_cell_size(one, column + _GAP), a[1]),
                (other, b[1]),
            )
        )


def _folded(text: str, width: int) -> Sequence[str]:
    """A text as lines, the last one of many cut."""
    lines = []
    for line in text.splitlines() or [""]:
        ends = [*fold_points(line, width), len(line)]
        lines += [line[start:end].rstrip() for start, end in zip([0, *ends], ends, strict=False)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], tail_cut(f"{lines[_MOST_LINES - 1]}…", width)]
    return lines


# -- queries, pages and claims --------------------------------------------------------------------


def _queries(both: Comparison, width: int) -> Iterator[Content]:
    for pair in both.queries:
        a, b = pair.a, pair.b
        is_same = a is not None and b is not None and a.text == b.text
        role = "dim" if is_same else ""
        one, other = ((each.text if each is not None else _UNKNOWN, role) for each in (a, b))
        numbers = dict.fromkeys(str(each.number) for each in (a, b) if each is not None)
        yield from _row(" / ".join(numbers), one, other, width)
        yield from _row("", (_query_facts(a), "accent"), (_query_facts(b), "accent"), width)


def _query_facts(query: ComparedQuery | None) -> str:
    if query is None:
        return ""
    status = "" if query.status == "success" else query.status or "unfinished"
    facts = (
        "undone" if query.undone else "",
        status,
        quantity(query.calls, "call"),
        money(query.cost_usd),
        duration(query.seconds),
    )
    return " · ".join(filter(None, facts))


def _pages(pages: PageChanges, width: int) -> Iterator[Content]:
    for sign, found in (("-", pages.only_a), ("+", pages.only_b), ("=", pages.both)):
        for page in found:
            text = f"{clean_line(page.title, 160) or page.url}  {host_of(page.url)}"
            yield from _wrapped(sign, text, width, "dim" if sign == "=" else "")


def _claims_title(both: Comparison) -> str:
    claims = both.claims
    if claims is None:
        lacking = {"A": both.a, "B": both.b}
        name, side = next((item for item in lacking.items() if item[1].claims is None), ("A", both.a))
        why = f"the claims of {name} are not known" if side.report else f"{name} has no report"
        return f"Claims not compared: {why}"
    return (
        f"Claims: {len(claims.same):,} in common, {len(claims.changed):,} changed, {len(claims.gone):,} only in A, "
        f"{len(claims.new):,} only in B"
    )


def _claims(claims: ClaimChanges | None, width: int) -> Iterator[Content]:
    if claims is None:
        return
    for old, new in claims.changed:
        text = f"{_quoted(old)} is now {_quoted(new)}: {clean_line(new.sentence, 160)}"
        yield from _wrapped("~", text, width)
    for old, new in claims.judged:
        text = f'"{clean_line(new.quote.exact, 120)}" was {old.state}, is now {new.state}: '
        text += clean_line(new.sentence, 160)
        yield from _wrapped("~", text, width)
    for sign, alone in (("-", claims.gone), ("+", claims.new)):
        for claim in alone:
            yield from _wrapped(sign, f"{_quoted(claim)}: {clean_line(claim.sentence, 160)}", width)


def _quoted(claim: Claim) -> str:
    return f'"{clean_line(claim.quote.exact, 120)}"' + (f" ({claim.state})" if claim.is_doubtful else "")


def _text_title(both: Comparison) -> str:
    text = both.text
    if text is None:
        # If they cannot be read, the notices say why.
        return f"Answers not compared{'' if both.notices else ': one of the two has no answer'}"
    changes = describe_counts((text.changed, text.added, text.removed)).removeprefix("lines: ")
    name = "reports" if text.of == "reports" else "last answers"
    return f"Lines of the {name}: {changes}" if changes else f"The {name} have the same text"


def _wrapped(sign: str, text: str, width: int, role: str = "") -> Iterable[Content]:
    """A paragraph behind its sign."""
    indent = "  " if sign else ""
    for number, line in enumerate(_folded(text, max(8, width - len(indent)))):
        if not sign:
            yield styled(line, role)
        else:
            yield joined((("  " if number else f"{sign} ", _ROLES[sign]), (line, role)))
