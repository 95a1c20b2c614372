"""Rewinding to the point before a query: the choice of the query, and what would change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from textual.content import Content

from ua_tui.core.events.units import money, quantity
from ua_tui.core.history.kept_versions import Plan
from ua_tui.core.session.rewinding import Prospect
from ua_tui.core.text import clean_line
from ua_tui.core.view.records import Query
from ua_tui.tui.render.format import first_line, tail_cut
from ua_tui.tui.screens.files.headings import ChoiceScreen
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, Box, Choice, Dialog, FactRows, Foot, Words

_FEW, _MOST_PATHS, _MOST_TOOLS = 3, 50, 6
_KINDS = (("changed", "Changed"), ("deleted", "Deleted"), ("added", "Restored"))
_REASONS = (
    ("by_hand", "changed while no query ran"),
    ("in_use", "open for writing in another program"),
    ("not_kept", "content not kept: over a size limit"),
    ("in_the_way", "a link or a folder is in the way"),
)

Answer = Literal["stay", "conversation", "files"]


class RewindScreen(ChoiceScreen[Query]):
    """Lists the queries of a session, the newest first; closes with the one to go back to, or with None.

    Args:
        queries: the queries that are not undone, in their order.
    """

    def __init__(self, queries: Sequence[Query]) -> None:
        newest_first = list(reversed(queries))
        rows = LetterKeyList(id="rewind-queries")
        rows.show_rows(map(_row, newest_first), 0)
        super().__init__("Rewind to which query?", rows, newest_first, "show what would change")


def _row(query: Query) -> Content:
    calls = f"  {quantity(query.calls, 'call')}" if query.calls else ""
    return Content.assemble(
        (f"{query.number:>3}  {query.at.astimezone():%H:%M}  ", "$text-on-rows"),
        first_line(query.text),
        (calls, "$text-on-rows"),
    )


def describe_work(queries: Sequence[Query]) -> str:
    """Describe how much the queries did: their number, their calls, their cost."""
    costs = [query.end.cost_usd for query in queries if query.end is not None and query.end.cost_usd]
    calls = sum(query.calls for query in queries)
    work = quantity(len(queries), "query", "queries") + (f" and {quantity(calls, 'call')}" if calls else "")
    return f"{work}; the cost of {money(sum(costs))} still counts" if costs else work


class ReturnScreen(Dialog[Answer]):
    """Shows what going back to before a query would change, and asks; to stay has the focus.

    Args:
        query: the query.
        undone: it and those after it.
        prospect: what would change.
        queued: the number of waiting queries.
    """

    FIRST = "stay"

    def __init__(self, query: Query, undone: Sequence[Query], prospect: Prospect, queued: int = 0) -> None:
        plan = prospect.plan
        choices = [
            Choice("n", "Stay", "stay", "answer('stay')"),
            Choice("c", "Conversation only", "rewind-conversation", "answer('conversation')"),
        ]
        if plan is not None and plan.changes:
            files = f"Conversation and {quantity(len(plan.changes), 'file')}"
            choices.append(Choice("f", files, "rewind-files", "answer('files')"))
        box = Box(
            f"Rewind to query {query.number}",
            "-asks",
            Words(tail_cut(first_line(query.text), 200), "heading"),
            FactRows(_rows(undone, prospect, queued), "-wide"),
            Words(_about_files(plan), "advice"),
            FactRows(_file_rows(plan), "-wide"),
            Foot(*choices),
        )
        # A key that was held down must not be an answer.
        super().__init__(box, requested=True, quiet=QUIET_SECONDS)

    def action_answer(self, value: Answer) -> None:
        """Close with the answer; without files to change there is none about them."""
        if value != "files" or self.query("#rewind-files"):
            super().action_answer(value)


def _rows(undone: Sequence[Query], prospect: Prospect, queued: int) -> list[tuple[str, str]]:
    outside = ", ".join(clean_line(each, 60) for each in prospect.outside[:_MOST_TOOLS])
    more = len(prospect.outside) - _MOST_TOOLS
    rows = [
        ("Undone", f"{describe_work(undone)}. The agent forgets this part."),
        ("Kept", "Everything, as a separate session."),
        ("Not undone", f"{outside}{f' and {more} more' if more > 0 else ''}" if outside else ""),
        ("Queue", f"{quantity(queued, 'paused query', 'paused queries')}." if queued else ""),
    ]
    return [(label, text) for label, text in rows if text]


def _about_files(plan: Plan | None) -> str:
    if plan is None:
        return "The earlier content of the files is unknown, so they stay as they are."
    if not plan.changes:
        return "No file would change."
    return "The files stay as they are unless you choose to rewind them, too. Then these change:"


def _file_rows(plan: Plan | None) -> list[tuple[str, str]]:
    if plan is None:
        return []
    rows = [(label, _paths(plan.of(kind))) for kind, label in _KINDS]  # type: ignore[arg-type]
    rows += [
        ("Stays", f"{_paths(paths)} ({why})")
        for reason, why in _REASONS
        if (paths := plan.staying(reason))  # type: ignore[arg-type]
    ]
    return [(label, text) for label, text in rows if text]


def _paths(paths: Sequence[str]) -> str:
    shown = ", ".join(clean_line(path, 80) for path in paths[:_MOST_PATHS])
    more = f" and {len(paths) - _MOST_PATHS:,} more" if len(paths) > _MOST_PATHS else ""
    return f"{quantity(len(paths), 'file')}, {shown}{more}" if len(paths) > _FEW else shown
