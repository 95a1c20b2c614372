"""The claims of a report as a table, the riskiest first, where a person accepts and rejects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from msgspec import UNSET, UnsetType
from rich.style import Style
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.ledger import Answer, ListedClaim
from ua_tui.core.claims.records import Source
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.screens.files.signing import Signing
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.viewers.claims.marks import risk_of, sign_of
from ua_tui.tui.viewers.claims.panel import claim_body
from ua_tui.tui.viewers.claims.view import EvidencePanel
from ua_tui.tui.viewers.view.chrome import KeyLine, TitleLine
from ua_tui.tui.widgets.column_list import Column, ColumnList
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

_ASKED = (
    "The model compares each sentence with its passages, without tools. "
    "The states of the claims do not change."
)
_SHORT = {"not in the passage": "not in it"}
"""What a model says in the width of a column."""


class ClaimRow(NamedTuple):
    """A claim, and its number in the report, from 0."""

    number: int
    claim: ListedClaim


class ClaimsList(ColumnList[ClaimRow]):
    """The claims of a report, with what was found, decided and said about each."""

    BINDINGS = bindings("ClaimsList")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"claims--{name}"
        for name in ("wrong", "doubtful", "found", "accepted", "rejected", "selected", "claim")
    }

    def __init__(self, report: CheckedReport) -> None:
        super().__init__(id="claims-list")
        self.report = report
        """The report with what is decided and said by now."""
        self.selected: set[int] = set()
        """The numbers of the claims that are chosen together."""

    def name_of(self, row: ClaimRow) -> str:
        """The number of the claim."""
        return str(row.number)

    def columns(self, width: int) -> Sequence[Column[ClaimRow]]:
        """What was found, the claim and its sentence; more where there is room."""
        muted = self.muted
        columns: list[Column[ClaimRow]] = [
            Column("state", 10, lambda row: row.claim.state, self._style_of_state, gap=0),
            Column("claim", 20, lambda row: clean_line(row.claim.quote.exact, 200), self._style("claim")),
        ]
        if width >= 110:
            columns.insert(1, Column("kind", 9, lambda row: row.claim.kind, muted))
        last: list[Column[ClaimRow]] = [Column("decision", 10, self._decided, self._style_of_decision)]
        if self.report.second_opinion:
            last.insert(0, Column("opinion", 11, self._said, muted))
        if width >= 130:
            last = [Column("source", 28, self._title, muted), Column("read", 10, self._read, muted), *last]
        room = width - 2 - sum(column.width + column.gap for column in (*columns, *last)) - 2
        if room >= 12:
            columns.append(Column("sentence", room, lambda row: clean_line(row.claim.sentence, 400), muted))
        return [*columns, *last]

    def mark(self, row: ClaimRow) -> tuple[str, Style]:
        """The sign of a chosen claim, else of its state."""
        if row.number in self.selected:
            return "●", self._style("selected")
        return sign_of(row.claim).character, self._style_of_state(row)

    def go_to(self, number: int | None) -> bool:
        """Move the cursor to a claim; False if it is none."""
        at = next((at for at, row in enumerate(self.rows) if row.number == number), None)
        if at is not None:
            self.action_go(at)
        return at is not None

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"claims--{name}")

    def _style_of_state(self, row: ClaimRow) -> Style:
        return self._style(sign_of(row.claim).style)

    def _style_of_decision(self, row: ClaimRow) -> Style:
        answer = self._now(row).answer
        return self._style(answer) if answer is not None else self.muted

    def _decided(self, row: ClaimRow) -> str:
        claim = self._now(row)
        return (claim.answer or "open") + " +" * bool(claim.decision and claim.decision.note)

    def _said(self, row: ClaimRow) -> str:
        opinion = self._now(row).opinion
        return _SHORT.get(opinion.verdict, opinion.verdict) if opinion is not None else ""

    def _now(self, row: ClaimRow) -> ListedClaim:
        return self.report.claims[row.number]

    def _source(self, row: ClaimRow) -> Source | None:
        return self.report.sources[row.claim.passages[0].source] if row.claim.passages else None

    def _title(self, row: ClaimRow) -> str:
        source = self._source(row)
        return clean_line(source.name, 200) if source is not None else ""

    def _read(self, row: ClaimRow) -> str:
        source = self._source(row)
        return f"{source.read_at:%Y-%m-%d}" if source is not None and source.read_at is not None else ""


class ClaimsScreen(Modal[None]):
    """Lists the claims of a report, the riskiest first; several can be chosen and decided at once.

    Args:
        signing: the checked report, and what is decided about it.
        show: shows a claim in the report, by its number.
        at: the claim under the cursor at first; that of a negative number is the first open one.
    """

    PARTS = (ClaimsList,)
    BINDINGS = bindings("ClaimsScreen")
    OFFERED = (
        ("claims.open", "evidence", "open"),
        ("claims.doubtful", "next doubtful", "doubtful"),
        ("claims.accept", "accept", "answer('accepted')"),
        ("claims.reject", "reject", "answer('rejected')"),
        ("claims.note", "note", "note"),
        ("claims.reopen", "reopen", "answer('')"),
        ("claims.opinion", "opinion", "opinion"),
        ("screen.back", "back", "close"),
    )

    def __init__(self, signing: Signing, show: Callable[[int], None], at: int = -1) -> None:
        super().__init__()
        self._first = at
        self._activity = ""
        self._signing = signing
        self._show = show
        self._list = ClaimsList(signing.report)

    def compose(self) -> ComposeResult:
        """Create the claims, what keeps decisions from counting, the evidence for a claim, and the keys."""
        yield TitleLine()
        yield self._list
        yield Input(id="claims-note", placeholder="A note · Enter saves it, Esc cancels", compact=True)
        yield Static(id="claims-notice")
        yield EvidencePanel(id="claims-about")
        keys = keys_of(self.app)
        yield KeyLine(
            *((keys.shown(name), label, f"screen.{action}") for name, label, action in self.OFFERED)
        )

    def on_mount(self) -> None:
        """Show the claims, and what is decided from now on."""
        self.query_one(Input).display = False
        self.query_one(TitleLine).show("Claims")
        rows = [ClaimRow(number, claim) for number, claim in enumerate(self._list.report.claims)]
        rows.sort(key=lambda row: risk_of(row.claim))
        first = self._signing.next_open([row.number for row in rows], -1) if self._first < 0 else self._first
        self._list.show(rows, None if first is None else str(first))
        self._list.focus()
        # Before there is a size, a row in view is at the top.
        self.call_after_refresh(self._show_all_above)
        self._signing.changed.append(self.show_changes)
        self.show_changes()

    def _show_all_above(self) -> None:
        """Scroll no further than the cursor needs."""
        self._list.scroll_to(y=0, animate=False, immediate=True, force=True)
        self._list.action_move(0)

    def on_unmount(self) -> None:
        """Hear of no more decisions."""
        self._signing.changed.remove(self.show_changes)

    def on_column_list_highlighted(self, event: ColumnList.Highlighted) -> None:
        """Show the evidence for the claim under the cursor."""
        event.stop()
        self._show_evidence()

    def on_column_list_opened(self, event: ColumnList.Opened) -> None:
        """Show the claim in the report."""
        event.stop()
        self.action_open()

    def show_changes(self) -> None:
        """Show what is decided and said by now."""
        report = self._list.report = self._signing.report
        facts = report.signed or f"{quantity(len(self._list.rows), 'claim')}, none decided"
        self.query_one(TitleLine).show(
            facts=f"{self._activity} Esc stops · {facts}" if self._activity else facts
        )
        empty = "" if self._list.rows else "The report has no figures, quotations or links."
        texts = (
            (empty, "$text-muted"),
            (report.second_opinion, "$text-muted"),
            (report.unsigned, "$warning"),
        )
        shown = [Content.styled(clean_line(text, 2_000), style) for text, style in texts if text]
        notice = self.query_one("#claims-notice", Static)
        notice.update(Content("\n").join(shown))
        notice.display = bool(shown)
        self._list.refresh()
        self._show_evidence()

    def _show_evidence(self) -> None:
        row = self._list.chosen
        body = claim_body(self._list.report, row.number) if row is not None else None
        self.query_one(EvidencePanel).show_detail(body)

    # -- decisions ------------------------------------------------------------------------------------

    def action_answer(self, answer: Answer | str) -> None:
        """Accept or reject the chosen claims, or open them again; the cursor goes on to the next open claim."""
        if not (numbers := self._targets()):
            return
        self._decide(numbers, answer or None)  # type: ignore[arg-type]  # one of the three
        order = [row.number for row in self._list.rows]
        if answer and not self._list.go_to(self._signing.next_open(order, numbers[-1])):
            self.notify("No claim is open.")

    def action_note(self) -> None:
        """Ask for a note on the chosen claims."""
        if (row := self._list.chosen) is not None:
            line, decision = self.query_one(Input), self._list.report.claims[row.number].decision
            line.value = decision.note if decision is not None and not self._list.selected else ""
            line.display = True
            line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Store the note."""
        event.stop()
        self._decide(self._targets(), UNSET, event.value)
        self._hide_note()

    def _decide(
        self, numbers: Sequence[int], answer: Answer | UnsetType | None, note: str | None = None
    ) -> None:
        self._signing.decide(numbers, answer, note)
        self._list.selected.clear()
        self._list.refresh()

    def action_close(self) -> None:
        """Close the line for a note, then stop the model, then choose no claims, then close the screen."""
        if self.query_one(Input).display:
            self._hide_note()
        elif self._activity:
            self.workers.cancel_group(self, "opinion")
        elif self._list.selected:
            self._list.selected.clear()
            self._list.refresh()
        else:
            self.dismiss()

    def _hide_note(self) -> None:
        self.query_one(Input).display = False
        self._list.focus()

    def action_choose(self, step: int) -> None:
        """Choose the claim under the cursor, or no longer, and go to the one beside it."""
        if (row := self._list.chosen) is not None:
            self._list.selected ^= {row.number}
            self._list.action_move(step)

    def _targets(self) -> list[int]:
        """The numbers of the chosen claims, else of the one under the cursor."""
        chosen = [row.number for row in self._list.rows if row.number in self._list.selected]
        return chosen or ([self._list.chosen.number] if self._list.chosen is not None else [])

    # -- a second opinion -----------------------------------------------------------------------------

    def action_opinion(self) -> None:
        """Ask a model for a second opinion, after the person agreed to the price."""
        if self._list.rows and not self._activity:
            start_job(self, self._ask, "opinion")

    async def _ask(self) -> None:
        self._show_activity("reading the price…")
        try:
            await self._signing.ask_model(self._agrees)
        except UniversalAgentError as error:
            self.warn(f"No second opinion: {clean_line(str(error), 600)}")
        finally:
            self._show_activity("")

    async def _agrees(self, question: str) -> bool:
        self._show_activity("")
        dialog = ConfirmScreen("Second opinion", question, _ASKED, yes="Ask", no="Do not ask")
        is_agreed = await self.app.push_screen_wait(dialog)
        self._show_activity("asking the model…" if is_agreed else "")
        return is_agreed

    def _show_activity(self, text: str) -> None:
        self._activity = text
        if self.is_attached:
            self.show_changes()

    # -- moving ---------------------------------------------------------------------------------------

    def action_doubtful(self) -> None:
        """Go to the next doubtful claim that is open; the ends are connected."""
        if (row := self._list.chosen) is not None:
            doubtful = [each.number for each in self._list.rows if each.claim.is_doubtful]
            if not self._list.go_to(self._signing.next_open(doubtful, row.number)):
                self.notify("No doubtful claim is left.")

    def action_open(self) -> None:
        """Show the claim under the cursor in the report."""
        if (row := self._list.chosen) is not None:
            self.dismiss()
            self._show(row.number)

    def action_scroll_evidence(self, pages: int) -> None:
        """Scroll the evidence by pages."""
        self.query_one(EvidencePanel).scroll_pages(pages)
