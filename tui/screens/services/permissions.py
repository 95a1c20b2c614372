"""The permission rules of the session: where each comes from, when it was last used, and what was decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from textual.content import Content

from ua_tui.core.agent.permissions.rule_set import NO_RULES, RuleSet
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import quantity
from ua_tui.core.history.permission_log import PermissionDecision, read_decisions
from ua_tui.core.text import clean_line
from ua_tui.tui.ports import SessionPort
from ua_tui.tui.render.format import moment
from ua_tui.tui.screens.services.row_screen import MUTED, RowScreen, field, hanging
from ua_tui.tui.widgets.column_list import Column
from ua_tui.tui.workers import start_job

_EFFECTS = {"allow": ("✓", "$success"), "ask": ("?", "$warning"), "deny": ("✗", "$error")}
_FROMS = {"session": "this session", "folder": "this folder", "demo": "the demo", "option": "an option"}
_LIFETIMES = {
    "session": "until the session ends",
    "folder": "in this folder, until you remove it",
    "everywhere": "in every folder, until you remove it",
    "demo": "in the demo",
    "option": "in this session: it was given on the command line",
    "environment": "while a variable sets it; `ua-tui config` shows which",
    "config.toml": "until you remove it from your own config.toml; `ua-tui config` shows where",
}
_EMPTY = f"{NO_RULES} A permission dialog can add a rule."


class PermissionsScreen(RowScreen[Rule]):
    """Lists the rules that hold now; below them are the decisions of the session, the newest first."""

    OFFERED = (("permissions.remove", "remove", "remove"), ("permissions.read", "reload", "read"))

    def __init__(self, session: Callable[[], SessionPort | None]) -> None:
        super().__init__()
        self._find_session = session
        self._used: dict[Rule, datetime] = {}
        self._decisions: list[PermissionDecision] = []
        self._problem = ""

    def on_mount(self) -> None:
        """Read the rules."""
        self.title_line.show("Permission rules", facts="reading …")
        self.action_read()

    def action_read(self) -> None:
        """Read the rules and the decisions again."""
        start_job(self, self._change_and_read, "permissions", None)

    def action_remove(self) -> None:
        """Remove the rule under the cursor."""
        if (chosen := self.chosen) is not None:
            start_job(self, self._change_and_read, "permissions", chosen)

    async def _change_and_read(self, removed: Rule | None) -> None:
        session = self._find_session()
        if session is None:
            self.title_line.show(facts="the session has not started yet")
            return
        rules, folder = (
            session.controls.rules if session.controls is not None else RuleSet(),
            session.workspace.path,
        )
        problem = await asyncio.to_thread(rules.remove, removed) if removed is not None else None
        found = await asyncio.to_thread(list, rules)
        self._used = {rule: at for rule in found if (at := rules.last_used(rule)) is not None}
        self._problem = problem or rules.problem
        try:
            self._decisions = await asyncio.to_thread(read_decisions, folder)
        except UniversalAgentError as error:
            self._problem = self._problem or error.advice.sentence
        self.rows = found
        self.show_rows()

    def show_rows(self) -> None:
        """Show the rules and how many there are."""
        if self.rows or self._decisions:
            decided = quantity(len(self._decisions), "decision")
            self.title_line.show(facts=f"{quantity(len(self.rows), 'rule')} · {decided} in this session")
        else:
            self.title_line.show(facts="no rules")
        super().show_rows()

    def columns(self, width: int) -> Sequence[Column[Rule]]:
        """What a rule does, where it is from and when it was used."""
        columns: list[Column[Rule]] = [
            Column("effect", 7, lambda row: row.effect, lambda row: _EFFECTS[row.effect][1], gap=0),
            Column("from", 12, lambda row: _FROMS.get(row.origin, row.origin), MUTED),
            Column(
                "last used", 16, lambda row: moment(self._used[row]) if row in self._used else "never", MUTED
            ),
        ]
        room = max(16, width - 3 - sum(each.width + each.gap for each in columns))
        columns.insert(1, Column("rule", room, lambda row: clean_line(row.text, 1_000), gap=0))
        return columns

    def mark(self, row: Rule) -> tuple[str, str]:
        """The sign of its effect."""
        return _EFFECTS[row.effect]

    def details(self) -> Iterator[Content]:
        """The rule under the cursor, and the decisions."""
        rule, decided, width = self.chosen, self._decisions, self._width
        if self._problem:
            yield hanging(("✗ ", "$error"), clean_line(self._problem, 1_000), width, "$error")
        if rule is None:
            yield hanging(("", ""), _EMPTY, width, MUTED)
        else:
            yield field("rule ", f"{rule.effect} {clean_line(rule.text, 1_000)}", width)
            if rule.server:
                yield field("tools", f"of the server {clean_line(rule.server)}", width)
            yield field("applies", _LIFETIMES[rule.origin], width)
        yield from (Content(""), Content.styled("Decisions in this session, the newest first", "bold"))
        for each in list(reversed(decided))[:200]:
            mark, style = _EFFECTS.get(each.decision, _EFFECTS["deny"])
            why = " · ".join(filter(None, (each.by, each.rule or each.reason)))
            head = Content.assemble((f"{each.at.astimezone():%H:%M:%S} ", MUTED), (f"{mark} ", style))
            yield hanging(head, f"{each.tools} · {why}", width)
        if not decided:
            yield Content.styled("None yet.", MUTED)
