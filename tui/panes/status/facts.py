"""What the status line shows, from a session's events: as cells, and in full sentences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual.content import Content

from ua_tui.core.events.tool_names import tool_label
from ua_tui.core.events.types import (
    AgentSilent,
    ApiRetry,
    AuthFinished,
    AuthRequired,
    BudgetRaised,
    BudgetReached,
    ContextCompaction,
    ConversationCleared,
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    McpServer,
    McpStatus,
    MessageFinished,
    ModelChosen,
    PathFellBack,
    PermissionAnswered,
    PermissionAsked,
    PermissionModeChanged,
    PlanLimit,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    TextDelta,
    ThinkingDelta,
    TokensSpent,
    ToolCallFinished,
    ToolCallStarted,
    TracingFailed,
    UntrustedTextRead,
)
from ua_tui.core.events.units import quantity
from ua_tui.core.session.budget import WARN_AT
from ua_tui.core.text import clean_line
from ua_tui.core.view.costs import TokenCount
from ua_tui.tui.panes.status.layout import KEPT, Cell, cell, short_count, short_model, short_time
from ua_tui.tui.render.format import effort_of, fallback_of

if TYPE_CHECKING:
    from ua_tui.core.telemetry.tracer import Trace

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
CONNECTED = ("connected", "ok", "ready")
UNDECIDED = ("pending", "starting", "connecting", "reconnecting", "enabling", "disabling")
NOT_WANTED = ("off", "untrusted", "disabled")
MODES = {
    "default": "perm: ask",
    "acceptEdits": "perm: edits",
    "plan": "perm: plan",
    "bypassPermissions": "perm: ALLOW ALL",
}
_FOLDERS = {
    "undecided": ("folder not trusted", "it is not trusted, and its files have no effect: ua-tui trust"),
    "changed": ("folder not trusted", "its files have changed and have no effect: ua-tui trust"),
    "ignored": ("folder ignored", "its files have no effect, as you chose: ua-tui trust"),
    "partly": ("folder in part", "it is trusted without what decides where data goes: ua-tui trust"),
}
"""What the line and the whole status say of a folder that is not trusted, by `TrustState`."""
DECIDERS = {
    "rule": "chosen by a rule",
    "model": "chosen by the model",
    "fallback": "as neither the rules nor the model could decide",
}
AUTH = "auth"
WORD_WIDTH = 9
NAME_WIDTH = 20
MOST_MARKS = 5
_RANK = {"": 0, "warning": 1, "spent": 2}


@dataclass
class StatusFacts:
    """Everything that the line shows; `handle_event` keeps it up to date.

    `limit` is the spending limit in US dollars; `tracing` lists where traces go besides the session's folder, `folder`
    is what of the current folder takes effect (`TrustState`), `window` is the context window in tokens, None if it is
    unknown, `unpriced` are the models whose price is unknown, `trace` finds the trace. Times are those of `clock`, in
    seconds.
    """

    demo: bool = False
    model: str | None = None
    effort: str | None = None
    fallback: str | None = None
    mode: str = "default"
    limit: float | None = None
    tracing: Sequence[str] = ()
    trace: Callable[[], Trace | None] = lambda: None
    folder: str = ""
    window: int | None = None
    clock: Callable[[], float] = time.monotonic
    cost: float | None = None
    unpriced: dict[str, None] = field(default_factory=dict)
    tokens: TokenCount = field(default_factory=TokenCount)
    since: float | None = None
    stopping_since: float | None = None
    silent_since: float | None = None
    elapsed: float = 0.0
    servers: list[McpServer] = field(default_factory=list)
    _doing: str = "working"
    _waits_for: str = ""
    _questions: set[str] = field(default_factory=set)
    _tools: set[str] = field(default_factory=set)
    _path: str = ""
    _why: str = ""
    _decider: str = ""
    _live_cost: float = 0.0
    _estimated: bool = False
    _live_unpriced: dict[str, None] = field(default_factory=dict)
    _context: int = 0
    _plan: PlanLimit | None = None
    _level: str = ""
    _tracing_failed: str = ""
    _untrusted: str = ""

    @property
    def waiting(self) -> bool:
        """Whether something waits for the person."""
        return bool(self._questions)

    def note_state(self, state: str, *, busy: bool) -> None:
        """Note the new state of the session, and whether it is at work in it."""
        self.stopping_since = self.clock() if state == "stopping" else None
        if not busy and self.since is not None:
            self.elapsed = self.clock() - self.since
            self.since = None

    def handle_event(self, event: Event) -> None:
        """Update the facts that an event is about."""
        self.tokens = self.tokens.after(event)
        match event:
            case ContextCompaction() | ConversationCleared() | PlanLimit():
                self._on_model(event)
            case PermissionAsked() | ElicitationAsked() | AuthRequired():
                self._questions.add(_question_id(event))
            case PermissionAnswered() | ElicitationAnswered() | AuthFinished():
                self._questions.discard(_question_id(event))
            case MessageFinished(parent_tool_use_id=None, usage=usage) if usage is not None:
                self._context = usage.total
            case TokensSpent():
                self._live_cost += event.cost_usd or 0.0
                self._estimated = self._estimated or event.cost_usd is not None
                if event.cost_usd is None and event.model:
                    self._live_unpriced[event.model] = None
            case BudgetReached():
                self.limit = event.limit_usd
                self._level = max(self._level, event.level, key=_RANK.__getitem__)
            case BudgetRaised():
                self.limit, self._level = event.limit_usd, ""
            case SessionStarted():
                self._on_session_started(event)
            case ModelChosen():
                self.model, self.effort, self.fallback = event.model, event.effort, event.fallback_model
            case PermissionModeChanged():
                self.mode = event.mode
            case McpStatus():
                self.servers = list(event.servers)
            case UntrustedTextRead():
                self._untrusted = clean_line(event.what, 200)
            case TracingFailed():
                self._tracing_failed = clean_line(event.error, 300)
            case _:
                self._on_work(event)

    def _on_model(self, event: ContextCompaction | ConversationCleared | PlanLimit) -> None:
        """Update what the model's service reports by itself."""
        match event:
            case ContextCompaction():
                self._context = event.tokens_after or self._context
            case ConversationCleared():
                self._context = 0
            case PlanLimit():
                self._plan = event

    def _on_work(self, event: Event) -> None:
        """Update what the running query does, and on which path."""
        match event:
            case QueryReceived():
                self.since, self.elapsed = self.clock(), 0.0
                self._doing, self._path, self._why, self._decider = "thinking", "", "", ""
            case QueryClassified():
                self._path, self._decider = event.decision, event.source
                self._why = "" if event.source == "model" else clean_line(event.raw_response, 200)
            case PathFellBack():
                self._path, self._decider = "COMPLEX", "fell back"
                self._why = f"it called {tool_label(event.tool_name, {})}"
            case QueryFinished():
                self._on_query_finished(event)
            case ThinkingDelta():
                self._doing = "thinking"
            case TextDelta():
                self._doing = "writing"
            case ToolCallStarted():
                self._tools.add(event.tool_use_id)
                self._doing = "tools"
            case ToolCallFinished():
                self._tools.discard(event.tool_use_id)
                self._doing = "tools" if self._tools else "thinking"
            case AgentSilent():
                self.silent_since = None if event.over else self.clock() - event.silent_ms / 1000
                self._waits_for = clean_line(event.name, NAME_WIDTH) or "no answer"
            case ApiRetry():
                self._doing = f"retry {event.attempt}"
            case _:
                pass

    def _on_session_started(self, event: SessionStarted) -> None:
        self.demo, self.mode = event.demo, event.permission_mode
        self.model = event.model or self.model
        self.effort, self.fallback = event.effort, event.fallback_model
        self.limit = event.max_cost_usd if event.max_cost_usd is not None else self.limit

    def _on_query_finished(self, event: QueryFinished) -> None:
        self.silent_since = None
        if self.since is not None or event.duration_ms:
            self.elapsed = event.duration_ms / 1000
        self.since = None
        self.window = event.context_window or self.window
        # The cost of a query that ended without reporting it stays an estimate.
        cost = event.cost_usd if event.cost_usd is not None else (self._live_cost or None)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        self._estimated = self._estimated and event.cost_usd is None
        if event.cost_usd is None:
            self.unpriced |= dict.fromkeys(event.unpriced) or self._live_unpriced
        self._live_cost, self._live_unpriced = 0.0, {}
        self._questions &= {AUTH}
        self._tools.clear()

    # -- as cells ---------------------------------------------------------------------------------

    def cells(self, state: str, frame: int, width: int) -> list[Cell]:
        """Every cell, in order; those that change while work runs keep their widths."""
        cells = [cell(Content.styled(" DEMO ", "bold $warning reverse"), 100, "demo")] if self.demo else []
        cells.append(cell(self._state(state, frame), 99, "state"))
        failed, again = self._failed_servers(), self._servers_tried_again()
        if failed or again:
            cells.append(self._trouble_cell(failed, again, width))
        cells.append(cell(f"{short_time(self._seconds()):>6}", 90, "elapsed"))
        cells.append(self._money_cell())
        cells.append(cell(f"{short_count(self.tokens.total):>4} tok", 70, "tokens"))
        cells.append(cell(f"ctx {self._share_text():>4}", 60, "context"))
        if self.model:
            cells.append(cell(short_model(self.model), 40, "model"))
        cells.append(self._mode_cell())
        if self._untrusted:
            cells.append(_untrusted_cell())
        if self.folder in _FOLDERS:
            cells.append(_folder_cell(self.folder))
        if self.servers and not failed and not again:
            cells.append(cell(self._server_counts(), 45, "servers"))
        cells.append(self._tracing_cell())
        return cells

    def _state(self, state: str, frame: int) -> Content:
        word, mark, style = state, "·", "$text-muted"
        match state:
            case _ if self._questions:
                word, mark, style = "needs you", "?", "bold $text-warning"
            case "running" if self.silent_since is not None:
                word = f"{self._waits_for} {short_time(self.clock() - self.silent_since)}"
                mark, style = SPINNER[frame % len(SPINNER)], "$text-warning"
            case "running":
                word, mark, style = self._doing, SPINNER[frame % len(SPINNER)], "$text-accent"
            case "stopping":
                word, mark, style = "stopping…", SPINNER[frame % len(SPINNER)], "$text-accent"
            case "starting":
                mark, style = SPINNER[frame % len(SPINNER)], "$text-accent"
            case "idle":
                word, mark = "ready", "●"
            case "failed":
                mark, style = "✗", "bold $text-error"
            case "not set up":
                mark, style = "?", "bold $text-warning"
            case _:
                pass
        return Content.styled(f"{mark} {word:<{WORD_WIDTH}}", style)

    def _failed_servers(self) -> list[McpServer]:
        fine = (*CONNECTED, *UNDECIDED, *NOT_WANTED)
        return [each for each in self.servers if each.status not in fine and each.again_s is None]

    def _servers_tried_again(self) -> list[McpServer]:
        """The servers that failed and that are connected again automatically."""
        return [each for each in self.servers if each.again_s is not None or each.status == "reconnecting"]

    def _server_counts(self) -> str:
        wanted = [server for server in self.servers if server.status not in NOT_WANTED]
        return f"mcp {sum(server.status in CONNECTED for server in wanted)}/{len(wanted)}"

    def _trouble_cell(self, failed: list[McpServer], again: list[McpServer], width: int) -> Cell:
        """A mark for each server that failed, at every width; names and counts where there is room."""
        style = "bold $text-error" if failed else "$text-warning"
        marks = _marks("✗", len(failed)) + _marks("↻", len(again))
        names = ", ".join(server.name for server in (*failed, *again))
        names = clean_line(names, max(8, min(32, width // 4)))
        counts = self._server_counts()
        short = f"{marks} {counts.removeprefix('mcp ')}"
        return cell(
            Content.styled(f"{marks} {counts} {names}", style),
            65,
            "servers",
            (Content.styled(f"{short} {names}", style), 85),
            (Content.styled(short, style), 95),
            (Content.styled(marks, style), KEPT + 1),
        )

    def _money_cell(self) -> Cell:
        spent = f"{'~' if self._estimated else ''}{money(self.spent, self._digits())}"
        if self.all_unpriced:
            spent = f"≥{spent}" if self.spent else "cost ?"
        if self.limit is None:
            return cell(f"{spent:>7}", 80, "cost")
        limit = money(self.limit, self._digits())
        mark = {"": " ", "warning": "⚠", "spent": "✗"}[self._level]
        style = {"": "$text-muted", "warning": "bold $text-warning", "spent": "bold $text-error"}[self._level]
        wide = Content.styled(f"{mark} {spent:>{len(limit) + 1}}/{limit}", style)
        if not self._level:
            return cell(wide, 80, "cost")
        narrow = Content.styled(f"{mark} {spent:>{len(limit) + 1}}", style)
        return cell(wide, 92, "cost", (narrow, 96), (Content.styled(f"{mark} $", style), KEPT))

    def _digits(self) -> int:
        return 2 if self.limit is None or self.limit >= 0.01 else 4

    def _mode_cell(self) -> Cell:
        word = MODES.get(self.mode, clean_line(self.mode, 20))
        if self.mode == "bypassPermissions":
            return cell(Content.styled(word, "bold $text-error"), KEPT, "mode")
        # A mode that somebody chose explains what the agent does.
        return cell(word, 30 if self.mode == "default" else 75, "mode")

    def _tracing_cell(self) -> Cell:
        if self._tracing_failed:
            return cell(Content.styled("✗ tracing", "$text-warning"), 35, "tracing")
        return cell("tracing on" if self.tracing else "tracing off", 20, "tracing")

    # -- figures ----------------------------------------------------------------------------------

    def _seconds(self) -> float:
        # While the work is being stopped, the time is that of stopping.
        since = self.since if self.stopping_since is None else self.stopping_since
        return self.clock() - since if since is not None else self.elapsed

    @property
    def spent(self) -> float:
        """What the session has cost in US dollars, with an estimate for the running query."""
        return (self.cost or 0.0) + self._live_cost

    @property
    def all_unpriced(self) -> dict[str, None]:
        """The models whose price is unknown, also those of the running query."""
        return self.unpriced | self._live_unpriced

    def _share_text(self) -> str:
        """How full the context is; in tokens if its size is unknown."""
        if not self._context:
            return "0%"
        if self.window is None:
            return short_count(self._context)
        return f"{min(999, round(100 * self._context / self.window))}%"

    # -- in sentences -----------------------------------------------------------------------------

    def describe(self) -> list[tuple[str, str]]:
        """Describe everything that the line shows, each with a label and a sentence."""
        from ua_tui.core.events.describe import MODE_RULES

        rows = [("Model", clean_line(self.model, 100) if self.model else "default")]
        if self.demo:
            rows[0] = ("Model", f"{rows[0][1]} (scripted, this is the demo)")
        rows += [("Effort", effort_of(self.effort)), ("Fallback", fallback_of(self.fallback))]
        rows.append(("Permissions", MODE_RULES.get(self.mode, clean_line(self.mode, 20))))
        if self.folder in _FOLDERS:
            rows.append(("Folder", _FOLDERS[self.folder][1]))
        if self._untrusted:
            rows.append(("Read", f"{self._untrusted}: what can carry data out asks"))
        rows.append(("Path", self._describe_path()))
        rows.append(("Context", self._describe_context()))
        rows.append(("Tokens", f"{self.tokens.total:,} with sub-agents{self._describe_cached()}"))
        if self._plan is not None:
            from ua_tui.core.events.describe import describe_plan

            rows.append(("Plan", describe_plan(self._plan, datetime.now(UTC))))
        rows.append(("Cost", self._describe_cost()))
        for server in self.servers:
            state = clean_line(server.status, 40)
            if server.again_s is not None:
                state += f", retried in {server.again_s:g} s"
            if server.tools is not None:
                state += f", {quantity(server.tools, 'tool')}"
            if server.error:
                state += f": {clean_line(server.error, 300)}"
            rows.append((f"MCP {clean_line(server.name, 40)}", state))
        rows.append(("Tracing", self._describe_tracing()))
        if (trace := self.trace()) is not None:
            rows.append(("Trace", clean_line(trace.link or trace.trace_id, 500)))
        return rows

    def _describe_path(self) -> str:
        if not self._path:
            return "not chosen yet: a query gets a direct answer, or the full agent with its tools"
        if self._decider == "fell back":
            return f"{_path_text('COMPLEX')}: it began as a direct answer, but {self._why}"
        path = f"{_path_text(self._path)}, {DECIDERS.get(self._decider, '')}"
        return f"{path}: {self._why}" if self._why else path

    def _describe_context(self) -> str:
        if self.window is None:
            unknown = "is unknown (setting context_window)" if self.all_unpriced else "is not known yet"
            return f"{self._context:,} tokens; the model's context window {unknown}"
        return f"{self._context:,} of {self.window:,} tokens, {self._share_text()}"

    def _describe_cached(self) -> str:
        share = self.tokens.cached_share
        return "" if share is None else f"; {share:.0%} of the input was cached"

    def _describe_cost(self) -> str:
        digits = self._digits()
        text = f"{money(self.spent, digits)} including sub-agents"
        if unpriced := self.all_unpriced:
            known = f"{money(self.spent, digits)} and an unknown part" if self.spent else "unknown"
            text = f"{known}: no price is set for {clean_line(', '.join(unpriced), 200)} (setting prices)"
        if self._estimated:
            text += "; the cost of the running query is an estimate until it ends"
        if self.limit is None:
            return f"{text}; no spending limit (/budget sets one)"
        limit = money(self.limit, digits)
        if self._level == "spent":
            return f"{text}; spending limit of {limit} reached: /budget raises it"
        return f"{text}; limit {limit}, with a warning at {money(WARN_AT * self.limit, digits)}"

    def _describe_tracing(self) -> str:
        if self._tracing_failed:
            return f"failed: {self._tracing_failed}"
        if self.tracing:
            return f"on: spans go to {' and '.join(self.tracing)}, and to spans.jsonl in the session's folder"
        return "off: spans stay on this machine, in spans.jsonl in the session's folder"


def _question_id(event: Event) -> str:
    match event:
        case PermissionAsked() | PermissionAnswered() | ElicitationAsked() | ElicitationAnswered():
            return event.request_id
        case _:
            return AUTH


def _marks(mark: str, count: int) -> str:
    return mark * count if count <= MOST_MARKS else f"{mark}×{count}"


def money(amount: float, digits: int = 2) -> str:
    """Write US dollars in at most six cells, as long as they are less than a million."""
    return f"${amount:.{digits}f}" if amount < 1000 else f"${amount:.0f}"


def _path_text(path: str) -> str:
    if not path:
        # Nothing more is imported before the first frame.
        return ""
    from ua_tui.core.events.describe import PATHS

    return PATHS.get(path, path)


def _folder_cell(state: str) -> Cell:
    wide, _ = _FOLDERS[state]
    return cell(wide, 26, "folder", (Content.styled("folder!", "$text-muted"), 54))


def _untrusted_cell() -> Cell:
    forms = (
        (Content.styled("untrusted text", "$text-muted"), 35),
        (Content.styled("untrusted", "$text-muted"), 55),
    )
    return cell("untrusted text read", 25, "untrusted", *forms)
