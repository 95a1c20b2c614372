"""The feed of the observers: what each of them did with each tool result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.message import Message

from ua_tui.core.claims.records import RED, RISK
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import (
    KNOWLEDGE,
    REPORT_CHECK,
    ArtifactChanged,
    ArtifactSaved,
    ComplianceEnforced,
    ComplianceFailed,
    Event,
    ObserverFinished,
    ObserverStarted,
    ReportChecked,
)
from ua_tui.core.events.units import count, milliseconds, quantity
from ua_tui.core.text import clean, clean_line
from ua_tui.core.view.records import ObserverRuns
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.columns import StateTheme, TableStyles, render_columns
from ua_tui.tui.panes.requests import ShowCall
from ua_tui.tui.render.format import Mark, artifact_name, middle_cut, name_cut, tail_cut
from ua_tui.tui.render.layout import (
    PLAIN,
    Line,
    component_classes,
    cut_line,
    line_width,
    read_theme,
    spread,
    width_of,
    wrap,
)
from ua_tui.tui.virtual_list.virtual_list import VirtualList

NAME_CELLS = 18
TIME_CELLS = 7
ROOM_FOR_A_NAME = 6
CALL_CELLS = 16
WIDE = 68
"""Cells of a row from which it has room for counts and the tool call."""
AT_WORK = "running"
UNFINISHED = "unfinished"
WORDS: Mapping[str, tuple[str, str]] = {
    KNOWLEDGE: ("passage", "indexed"),
    REPORT_CHECK: ("report", "checked"),
    "corpus": ("article", "saved"),
    "downloads": ("file", "downloaded"),
    "media": ("media file", "saved"),
    "search_results": ("result", "saved"),
    "uploads": ("file", "uploaded"),
    "work_products": ("document", "saved"),
    "workbench_activity": ("run of code", "saved"),
}
"""What the items of an observer are, and what happened to them; the rows of others begin with their names."""
TABLE_COLUMNS = {"runs": 5, "saved": 6, "skip": 5, "fail": 5, "items": 6, "p50": 7, "p95": 7}
"""The columns of the table and their cells, the space before each included."""
DROPPED_FIRST = ("skip", "items", "p50", "saved", "runs", "p95", "fail")
"""The order in which columns are left out where room is short."""


@dataclass(slots=True, eq=False)
class FeedRow:
    """A row of the feed: one observer and one tool result, or a message of the compliance rules."""

    key: str
    observer: str
    tool_use_id: str = ""
    call: str = ""
    mark: Mark = Mark.RUNNING
    artifacts: list[str] = field(default_factory=list)
    copied: bool = False
    changed: bool = False
    said: str = AT_WORK
    about: str = ""
    what: str = AT_WORK
    counts: str = ""
    cause: str = ""
    milliseconds: float | None = None
    open: bool = False
    quiet: bool = False
    check: ReportChecked | None = None
    rule: tuple[str, str] | None = None
    revision: int = 0

    @property
    def is_internal(self) -> bool:
        """Whether the row is only shown with the statistics: the run goes on, or there was nothing to do."""
        return self.quiet or self.mark is Mark.RUNNING

    def finish(self, event: ObserverFinished, topic: str) -> None:
        """Update the row when the run has ended; all text is cleaned here. `topic` is what the call was about."""
        self.mark = Mark.ERROR if event.status == "failed" else Mark.SUCCESS
        self.quiet = event.status == "skipped"
        # The events keep paths as they are: these are for reading only.
        self.artifacts = list(event.artifacts) or self.artifacts
        self.counts = _counts(event)
        self.milliseconds = event.duration_ms
        self.cause = clean((event.error or "")[:4_000]).strip()
        if event.status == "failed":
            self.what = clean_line(self.cause) or "failed"
        elif (check := self.check) is not None:
            self.artifacts = [check.report]
            # What was found comes first: where there is room for one of them, the row above names the file.
            found = (_doubts(check), clean_line(check.summary, 500), _names(self.artifacts))
            self.what = "  ".join(filter(None, found))
            self.counts = ""
            self.mark = Mark.DENIED if check.red else Mark.SUCCESS
        else:
            self.what = _names(self.artifacts) or clean_line(event.note or "") or "nothing to save"
        self.said = self._sentence(event)
        if self.artifacts and not self.cause:
            # A name with a random part says less than the query or the address of the call.
            is_named = self.check is not None or _names(self.artifacts[:1]) in self.artifacts[0]
            self.about = self.what if is_named else topic or self.what

    def _sentence(self, event: ObserverFinished) -> str:
        known = WORDS.get(self.observer)
        noun, done = known or ("item", "saved")
        if self.quiet:
            return self.what
        if self.cause or event.status == "failed":
            said = f"{noun} not {done}: {self.what}" if known else self.what
        elif (check := self.check) is not None:
            found = quantity(check.doubtful, "doubtful claim") if check.doubtful else "no doubtful claims"
            said = f"{noun} {done}: {found}"
        else:
            files = quantity(len(self.artifacts), "file")
            said = f"{quantity(event.items, noun)} {done}" if event.items else f"{files} saved"
        return said if known else f"{self.observer}: {said}"


def _names(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    # The name of the observer says the first folder; a folder in it, such as `unparsed`, says more.
    first = artifact_name(clean_line(paths[0].partition("/")[2] or paths[0]))
    return first if len(paths) == 1 else f"{first} +{len(paths) - 1}"


def _doubts(check: ReportChecked) -> str:
    counts = {state: sum(each.get(state, 0) for each in check.counts.values()) for state in RISK}
    return ", ".join(f"{number:,} {state}" for state, number in counts.items() if state in RED and number)


def _counts(event: ObserverFinished) -> str:
    rejected = f"{event.rejected} rejected" if event.rejected else ""
    duplicates = quantity(event.duplicates, "duplicate") if event.duplicates else ""
    return ", ".join(filter(None, (rejected, duplicates)))


@dataclass(frozen=True, slots=True)
class ObserversTheme(StateTheme):
    """The styles of the feed."""

    name: Style = PLAIN
    what: Style = PLAIN
    counts: Style = PLAIN
    quiet: Style = PLAIN


def render_run(run: FeedRow, width: int, theme: ObserversTheme, names: int = 0) -> list[Line]:
    """Render a row: what was saved, and the file or what it is about; why when it is open.

    Internals are shown with `names`, the cells that the longest name of an observer takes: that name comes first, and
    counts, tool call and time are at the right, as far as there is room.
    """
    style = theme.bad if run.mark is Mark.ERROR else theme.quiet if run.quiet else theme.what
    left: Line = [Segment(f"{_glyph(run)} ", theme.quiet if run.quiet else theme.of(run.mark))]
    right: Line = []
    said = run.said
    if names and width >= 24:
        cells = max(1, min(names, NAME_CELLS, width // 3))
        left.append(Segment(set_cell_size(middle_cut(run.observer, cells), cells + 1), theme.name))
        said = said.removeprefix(f"{run.observer}: ")
        facts = " · ".join(filter(None, (run.counts, middle_cut(run.call, CALL_CELLS))))
        if facts and width >= WIDE:
            right.append(Segment(facts, theme.counts))
        if run.milliseconds is not None:
            right.append(Segment(f"{milliseconds(run.milliseconds):>{TIME_CELLS}}", theme.number))
    room = width - line_width(left) - (line_width(right) + 1 if right else 0)
    left.append(Segment(tail_cut(said, max(1, room)), style))
    room -= width_of(said) + 2
    if run.about and room >= ROOM_FOR_A_NAME:
        about = _with_suffixes(run, run.about, room)
        cut = name_cut if run.about == run.what and run.check is None else tail_cut
        left.append(Segment(f"  {cut(about, room)}", theme.counts))
    line = spread(left, right, width) if right else cut_line(left, width)
    return [line, *_cause(run, width, style)]


def _with_suffixes(run: FeedRow, what: str, room: int) -> str:
    for suffix in (" → SAVED_REPORTS" if run.copied else "", " · changed" if run.changed else ""):
        if room > width_of(what) + width_of(suffix):
            what += suffix
    return what


def _cause(run: FeedRow, width: int, style: Style) -> list[Line]:
    if not (run.open and run.cause) or width < 8:
        return []
    return [[Segment("  "), *line] for line in wrap([(run.cause, style)], max(1, width - 2))]


def _glyph(run: FeedRow) -> str:
    return "–" if run.quiet else "…" if run.mark is Mark.RUNNING else run.mark.glyph


def render_table(
    metrics: Mapping[str, ObserverRuns], width: int, height: int, styles: TableStyles
) -> list[Line]:
    """Render a line per observer; where there is no room for all, those that failed, then those that ran most."""
    shown = list(metrics.items()) if metrics else []
    if len(shown) > height - 2:
        shown.sort(key=lambda each: (-each[1].failed, -each[1].runs))
    return render_columns(
        [(name, _figures(each, styles)) for name, each in shown],
        TABLE_COLUMNS,
        width,
        height if shown else 0,
        styles,
        head="observer",
        dropped_first=DROPPED_FIRST,
        most_name_cells=24,
    )


def _figures(runs: ObserverRuns, styles: TableStyles) -> dict[str, tuple[str, Style]]:
    numbers = {
        "runs": runs.runs,
        "saved": runs.saved,
        "skip": runs.skipped,
        "fail": runs.failed,
        "items": runs.items,
    }
    figures = {
        column: (count(number), styles.number if number else styles.zero)
        for column, number in numbers.items()
    }
    if runs.failed:
        figures["fail"] = (count(runs.failed), styles.bad)
    times = {"p50": runs.p50_ms, "p95": runs.p95_ms}
    return figures | {
        name: (milliseconds(time) if time else "–", styles.number) for name, time in times.items()
    }


class ObserversPane(VirtualList[FeedRow]):
    """Shows a row per observer run that saved something, failures with their cause, and what the rules demanded.

    `m` shows every run, with the name of its observer and its time, and above them a line per observer.
    """

    BINDINGS = bindings("ObserversPane")
    single_lines = True
    key_hints: ClassVar[tuple[tuple[str, str], ...]] = (
        ("move.open", "file"),
        ("call.origin", "tool call"),
        ("observers.numbers", "every run"),
        ("pane.maximise", "maximise"),
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = set(component_classes(ObserversTheme, "observers-").values())

    @dataclass
    class Opened(Message):
        """An artifact is to be shown; `path` is relative to the workspace."""

        path: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._names = 0
        self._metrics: Mapping[str, ObserverRuns] = {}
        self._with_table = False
        self._theme = ObserversTheme()
        self._muted = PLAIN
        self._runs: dict[str, FeedRow] = {}
        """All rows by their keys, in order."""
        self._files = 0
        self._is_changed = False
        self.show_counts()

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles of the feed from a new palette."""
        self._theme = read_theme(ObserversTheme, "observers-", palette.__getitem__)
        self._muted = palette["lines--muted"]

    def render_entry(self, entry: FeedRow, width: int) -> Sequence[Line]:
        """Render a row; with the table, with all that is known."""
        return render_run(entry, width, self._theme, self._names if self._with_table else 0)

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Render the table where it is wanted."""
        if not self._with_table:
            return []
        theme = self._theme
        styles = TableStyles(self._muted, theme.what, theme.number, theme.quiet, theme.bad)
        return render_table(self._metrics, width, height, styles)

    def render_below(self, width: int) -> Sequence[Line]:
        """Say what will be here."""
        if self.entries:
            return []
        return [[], *wrap([("What is saved from each tool result appears here.", self._muted)], width)]

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Add or change the row that an event is about."""
        match event:
            case ObserverStarted():
                self._run(event, view)
            case ObserverFinished():
                run, call = self._run(event, view), view.call(event.tool_use_id)
                run.finish(event, clean_line(call.argument) if call is not None else "")
                saved = (view.artifacts.get(path) for path in run.artifacts)
                run.copied |= any(each is not None and each.copies for each in saved)
                self._show(run)
                self._change(run)
            case ArtifactSaved(copied_to=copied_to) if copied_to:
                self._note(event.path, copied=True)
            case ArtifactChanged():
                self._note(event.path, changed=True)
            case ReportChecked(tool_use_id=call):
                of_check = (REPORT_CHECK, call or "")
                checked = self._find(lambda run: (run.observer, run.tool_use_id) == of_check)
                if checked is not None:
                    checked.check = event
                    self._change(checked)
            case ComplianceFailed() | ComplianceEnforced():
                self._on_compliance(event)
            case _:
                return
        self._is_changed = True

    def show_view(self, view: SessionView) -> None:
        """Paint once what a batch of events has changed."""
        if self._is_changed:
            self._is_changed = False
            self._metrics, self._files = view.observers, view.artifact_count
            self.show_counts()
            self.update_rows()

    def _note(self, path: str, *, copied: bool = False, changed: bool = False) -> None:
        """Note what became of a file in the row of the run that saved it."""
        if (run := self._find(lambda run: path in run.artifacts)) is not None:
            run.copied |= copied
            run.changed |= changed
            self._change(run)

    def _find(self, is_wanted: Callable[[FeedRow], bool]) -> FeedRow | None:
        """The newest row like this."""
        return next(filter(is_wanted, reversed(self._runs.values())), None)

    def _run(self, event: ObserverStarted | ObserverFinished, view: SessionView) -> FeedRow:
        run = self._runs.get(key := f"run/{event.run_id}")
        if run is None:
            call = view.call(event.tool_use_id)
            run = FeedRow(
                key,
                clean_line(event.observer),
                event.tool_use_id,
                call=call.label if call is not None else "",
            )
            self._add(run)
        return run

    def _on_compliance(self, event: ComplianceFailed | ComplianceEnforced) -> None:
        rule, agent = clean_line(event.rule).replace("_", " "), clean_line(event.subagent)
        run = self._find(lambda run: run.rule == (event.subagent, event.rule))
        if run is None or (isinstance(event, ComplianceFailed) and run.mark is Mark.RETRY):
            run = FeedRow(f"rule/{len(self._runs)}", "compliance", mark=Mark.DENIED)
            run.rule = event.subagent, event.rule
            self._add(run)
        run.cause = f"{agent}: {clean(event.message[:4_000]).strip()}"
        run.what = rule
        if isinstance(event, ComplianceEnforced):
            run.mark = Mark.RETRY
            run.what = describe(event).sentence if event.finding else f"{rule} → {Mark.RETRY.word}"
        run.said = run.what
        self._change(run)

    def _add(self, run: FeedRow) -> None:
        if width_of(run.observer) > self._names:
            self._names = width_of(run.observer)
            for row in self.entries:
                self._change(row)
        self._runs[run.key] = run
        self._show(run)

    def _show(self, run: FeedRow) -> None:
        if self.index_of(run.key) is None and (self._with_table or not run.is_internal):
            self.append(run)

    def _show_rows(self) -> None:
        """Show the rows that are wanted now."""
        shown = [run for run in self._runs.values() if self._with_table or not run.is_internal]
        for run in shown:
            run.revision += 1
        self.splice(0, len(self.entries), shown)
        self.update_rows()

    def twin(self) -> ObserversPane:
        """Make an empty feed that is on no screen."""
        twin = ObserversPane()
        twin._with_table = self._with_table
        return twin

    def adopt(self, longer: Self) -> None:
        """Show a longer feed, which is given up for that; a cause that is shown stays so."""
        for key, run in self._runs.items():
            if run.open and (theirs := longer._runs.get(key)) is not None:
                theirs.open = True
        super().adopt(longer)
        self._runs, self._files = longer._runs, longer._files
        self._names, self._metrics = longer._names, longer._metrics
        self.show_counts()
        self._show_rows()

    def end(self) -> None:
        """Let no run look as if it continued."""
        for run in self._runs.values():
            if run.milliseconds is None and run.what == AT_WORK:
                run.what, run.said, run.quiet = UNFINISHED, UNFINISHED, True
                self._change(run)
        self.update_rows()

    def _change(self, run: FeedRow) -> None:
        run.revision += 1
        self.touch(run.key)

    def show_counts(self) -> None:
        """Show on the border what was saved and what failed."""
        if self.off_screen:
            return
        parts: list[str | Content | tuple[str, str]] = ["Observers"]
        if self.entries:
            failures = sum(each.failed for each in self._metrics.values())
            parts.append(f" · {quantity(self._files, 'file')}")
            if failures:
                parts += [" · ", (f"{failures} failed", "bold $text-error")]
        self.border_title = Content.assemble(*parts)

    def action_toggle_table(self) -> None:
        """Show the table and every run, or hide them."""
        self._with_table = not self._with_table
        self._show_rows()

    def open_entry(self, entry: FeedRow) -> None:
        """Go to the artifact of a run; show why one failed, or what a rule demanded."""
        if entry.artifacts and entry.mark is not Mark.ERROR:
            self.post_message(self.Opened(entry.artifacts[0]))
        elif entry.cause:
            entry.open = not entry.open
            self._change(entry)
            self.show_entry(entry.key)
            self.update_rows()

    def action_call(self) -> None:
        """Show the call that the run under the cursor is about."""
        run = self.cursor
        if run is not None and run.tool_use_id:
            self.post_message(ShowCall(run.tool_use_id, "The tool call of this run is not in the trace."))
