"""The claims of a report as a table, the riskiest first, where a person accepts and rejects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.ledger import Answer
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.screens.files.signing import Signing
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.viewers.bodies.table import Table, TableColumn, TableView
from ua_tui.tui.viewers.claims.marks import SIGNS
from ua_tui.tui.viewers.claims.panel import claim_body
from ua_tui.tui.viewers.claims.view import EvidencePanel
from ua_tui.tui.viewers.cursor_body import BodyCommand, Outcome
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.view.document_view import DocumentView
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.workers import start_job

_ASKED = (
    "The model compares each sentence with its passages, without tools. "
    "The states of the claims do not change."
)
_NOTE = "A note · Enter saves it, Esc cancels"
_SHORT = {"not in the passage": "not in it"}
"""What a model says in the width of a column."""
_COLUMNS = {
    "state": 15,
    "claim": 30,
    "decision": 10,
    "sentence": 60,
    "opinion": 11,
    "source": 28,
    "read": 10,
    "kind": 9,
}
"""The columns, as a row of the report has them, and their greatest widths."""


class ClaimRecords:
    """The claims of a report in its order, with what was found, decided and said about each by now."""

    def __init__(self, report: CheckedReport) -> None:
        self.report = report
        self.selected: set[int] = set()
        """The numbers of the claims that are chosen together."""

    def __len__(self) -> int:
        """The number of claims."""
        return len(self.report.claims)

    def __getitem__(self, number: int) -> Sequence[str]:
        """What was found, the claim, and what is known about it, in the width of the columns."""
        claim = self.report.claims[number]
        sign = "●" if number in self.selected else SIGNS[claim.state].character
        row = self.report.row(claim)
        row["state"] = f"{sign} {claim.state}"
        row["decision"] = (claim.answer or "open") + " +" * bool(claim.decision and claim.decision.note)
        row["opinion"] = _SHORT.get(row["opinion"], row["opinion"])
        return [clean_line(row[name], 400) for name in _COLUMNS]


class ClaimsTable(Table):
    """The table of the claims, the riskiest first; its detail is the evidence for a claim."""

    records: ClaimRecords

    def __init__(self, report: CheckedReport, show: Callable[[int], object]) -> None:
        columns = [TableColumn(name, widest=width) for name, width in _COLUMNS.items()]
        claims = report.claims
        every = sorted(range(len(claims)), key=lambda number: claims[number].risk)
        super().__init__(columns, ClaimRecords(report), every=every)
        self.empty_text = "The report has no figures, quotations or links."
        self._show = show

    def lay_out(self, width: int, theme: MarkdownTheme) -> TableView:
        """Return the rows for this width."""
        return _Rows(self, width)

    def whole_row(self, number: int) -> Sequence[str]:
        """Return the whole texts of a claim, without signs and with the note on the decision."""
        row = self.records.report.row(self.records.report.claims[number])
        return [row[name] for name in _COLUMNS]

    def execute(self, command: BodyCommand) -> Outcome:
        """Show a claim in the report, draw the table again, or what any table does."""
        if command.name == "open" and self.record is not None:
            self._show(self.record)
        return command.name == "draw" or super().execute(command)

    def detail(self) -> Body | None:
        """Return the evidence for the claim under the cursor."""
        return claim_body(self.records.report, self.record) if self.record is not None else None


class _Rows(TableView):
    _body: ClaimsTable

    def role(self, number: int, column: int) -> str:
        """Colour the state and the decision."""
        records = self._body.records
        claim = records.report.claims[number]
        match self._body.columns[column].title:
            case "state":
                return "accent" if number in records.selected else SIGNS[claim.state].role
            case "claim":
                return "strong"
            case "decision" if claim.answer:
                return "good" if claim.answer == "accepted" else "bad"
            case _:
                return "dim"


class ClaimsView(DocumentView):
    """The view of the table, whose letters decide."""

    BINDINGS = bindings("ClaimsView")


class ClaimsScreen(DocumentScreen[None]):
    """Lists the claims of a report, the riskiest first; several can be chosen and decided at once.

    Args:
        signing: the checked report, and what is decided about it.
        show: shows a claim in the report, by its number.
        at: the claim under the cursor at first; that of a negative number is the first open one.
    """

    PARTS = (ClaimsView,)
    name_of_table = "claims"

    def __init__(self, signing: Signing, show: Callable[[int], None], at: int = -1) -> None:
        super().__init__()
        self._activity = ""
        self._signing = signing
        self._show = show
        self.table = ClaimsTable(signing.report, self._open)
        self.selected = self.table.records.selected
        self._go_to(signing.next_open(self.table.order, -1) if at < 0 else at)

    def compose_content(self) -> ComposeResult:
        """Create the claims, and the evidence for the one under the cursor."""
        yield ClaimsView(id="viewer-view")
        yield EvidencePanel(id="viewer-detail")

    def on_mount(self) -> None:
        """Show the claims, and what is decided from now on."""
        # What was said on the way here would cover the title.
        self.app.clear_notifications()
        self.title_line.show("Claims")
        self.view.show(self.table)
        self._signing.changed.append(self.show_changes)
        self.show_changes()

    def on_unmount(self) -> None:
        """Hear of no more decisions."""
        self._signing.changed.remove(self.show_changes)

    def show_changes(self) -> None:
        """Show what is decided and said by now."""
        report = self.table.records.report = self._signing.report
        self.table.natural[4] = _COLUMNS["opinion"] if report.second_opinion else 0
        self._draw()

    def _draw(self) -> None:
        self.view.run_command(BodyCommand("draw"))

    def update_chrome(self) -> None:
        """Update the title, what the model said or why decisions do not count, and the keys."""
        report = self._signing.report
        texts = ((report.second_opinion, "$text-muted"), (report.unsigned, "$warning"))
        shown = [Content.styled(clean_line(text, 2_000), style) for text, style in texts if text]
        self.query_one("#viewer-notice", Words).show(Content("\n").join(shown))
        signed = report.signed or f"{quantity(len(self.table.records), 'claim')}, none decided"
        busy = [f"{self._activity} Esc stops"] if self._activity else self.search_facts()
        selected = f"{len(self.selected):,} selected" if self.selected else ""
        self.title_line.show(facts=" · ".join(filter(None, (*busy, selected, self.table.state, signed))))
        shown_key = self.keys.shown
        self.key_line.gap = 2
        self.key_line.show_keys(
            (shown_key("claims.accept"), "accept", "screen.answer('accepted')"),
            (shown_key("claims.reject"), "reject", "screen.answer('rejected')"),
            (shown_key("claims.note"), "note", "screen.note"),
            (shown_key("claims.reopen"), "reopen", "screen.answer('')"),
            (shown_key("claims.open"), "evidence", "screen.command('open')"),
            *self.body_keys(),
            (shown_key("claims.doubtful"), "doubtful", "screen.doubtful"),
            (shown_key("claims.opinion"), "opinion", "screen.opinion"),
            ("?", "keys", "app.keys_here"),
        )

    # -- decisions ------------------------------------------------------------------------------------

    def action_answer(self, answer: Answer | str) -> None:
        """Accept or reject the chosen claims, or open them again; the cursor goes on to the next open claim."""
        if not (numbers := self._targets()):
            return
        self._decide(numbers, answer or None)  # type: ignore[arg-type]  # one of the three
        if answer and not self._go_to(self._signing.next_open(self.table.order, numbers[-1])):
            self.notify("No claim is open.")

    def action_note(self) -> None:
        """Ask for a note on the chosen claims."""
        if (number := self.table.record) is not None:
            decision = self._signing.report.claims[number].decision
            own = None if self.selected else decision
            self._ask(_NOTE, own.note if own is not None else "")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Store the note, or filter."""
        if event.input.placeholder == _NOTE:
            event.prevent_default()
            event.input.display = False
            self.view.focus()
            self._decide(self._targets(), None, event.value)

    def _decide(self, numbers: Sequence[int], answer: Answer | None, note: str | None = None) -> None:
        self._signing.decide(numbers, answer, note)
        # Those that the filter hides were not decided, and stay chosen.
        self.selected.difference_update(numbers)
        self._draw()

    def action_leave(self) -> None:
        """Close the line, then stop the model, then choose no claims, then clear the filter, then close the screen."""
        if self._activity and not self.query_one(Input).display:
            self.workers.cancel_group(self, "opinion")
        elif self.selected and not self.query_one(Input).display:
            self.selected.clear()
            self._draw()
        else:
            super().action_leave()

    def action_close(self) -> None:
        """Close the table, but not while a line is open, whose text would be lost."""
        if not self.query_one(Input).display:
            super().action_close()

    def action_choose(self, step: int) -> None:
        """Choose the claim under the cursor, or no longer, and go to the one beside it."""
        if (number := self.table.record) is not None:
            self.selected ^= {number}
            self.table.cursor = max(0, min(self.table.cursor + step, self.table.entries - 1))
            self._draw()

    def _targets(self) -> list[int]:
        """The numbers of the chosen claims, else of the one under the cursor."""
        chosen = [number for number in self.table.order if number in self.selected]
        return chosen or ([self.table.record] if self.table.record is not None else [])

    # -- a second opinion -----------------------------------------------------------------------------

    def action_opinion(self) -> None:
        """Ask a model for a second opinion, after the person agreed to the price."""
        if len(self.table.records) and not self._activity:
            start_job(self, self._ask_model, "opinion")

    async def _ask_model(self) -> None:
        self._show_activity("estimating the price…")
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
            self.update_chrome()

    # -- moving ---------------------------------------------------------------------------------------

    def _go_to(self, number: int | None) -> bool:
        """Move the cursor to a claim; False if it is none that is shown."""
        claims = self.table.order
        if number in claims:
            self.table.cursor = claims.index(number)
            if self.is_mounted:
                self._draw()
        return number in claims

    def action_doubtful(self) -> None:
        """Go to the next doubtful claim that is open; the ends are connected."""
        if (number := self.table.record) is not None:
            claims = self._signing.report.claims
            doubtful = [each for each in self.table.order if claims[each].is_doubtful]
            if not self._go_to(self._signing.next_open(doubtful, number)):
                self.notify("No doubtful claim is left.")

    def _open(self, number: int) -> None:
        self.dismiss()
        self._show(number)
