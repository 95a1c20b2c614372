"""What the status line shows, from a session's events: as cells, and in full sentences."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from textual.content import Content

from ua_tui.core.events.tool_names import tool_label
from ua_tui.core.events.types import McpServer, PathFellBack, QueryClassified
from ua_tui.core.events.units import quantity
from ua_tui.core.session.budget import WARN_AT
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.status.layout import KEPT, Cell, cell, short_count, short_model, short_time
from ua_tui.tui.render.format import effort_of, fallback_of, spinner

if TYPE_CHECKING:
    from ua_tui.core.telemetry.tracer import Trace

CONNECTED = ("connected", "ok", "ready")
UNDECIDED = ("pending", "starting", "connecting", "reconnecting", "enabling", "disabling")
NOT_WANTED = ("off", "untrusted", "disabled")
MODES = {
    "acceptEdits": "allow edits",
    "plan": "plan",
    "bypassPermissions": "ALLOW ALL",
}
BUSY = ("starting", "running", "stopping")
"""The states in which the line changes all the time."""
_FOLDERS = {
    "undecided": ("folder not trusted", "it is not trusted, so its files have no effect: see `ua-tui trust`"),
    "changed": ("folder not trusted", "its files have changed, so they have no effect: see `ua-tui trust`"),
    "ignored": ("folder ignored", "its files have no effect, as you chose: see `ua-tui trust`"),
    "partly": (
        "folder partly trusted",
        "it is trusted, except for what decides where data goes: see `ua-tui trust`",
    ),
}
"""What the line and the whole status say of a folder that is not trusted, by `TrustState`."""
DECIDERS = {
    "rule": "chosen by a rule",
    "model": "chosen by the model",
    "fallback": "as neither the rules nor the model could decide",
}
MOST_MARKS = 5


@dataclass
class StatusFacts:
    """Everything that the line shows of the session's `view`.

    `tracing` lists where traces go besides the session's folder, `folder` is what of the current folder takes effect
    (`TrustState`), `trace` finds the trace. `clock` is the time of day, in seconds; `stopping_since` is when the
    session began to stop what it does, if it still does. `badge` is shown before all else. `past` gives the
    cells of a session that is only read, and nothing is said about it in sentences.
    """

    view: SessionView = field(default_factory=SessionView)
    tracing: Sequence[str] = ()
    trace: Callable[[], Trace | None] = lambda: None
    folder: str = ""
    clock: Callable[[], float] = time.time
    badge: str = ""
    stopping_since: float | None = None
    past: Callable[[], list[Cell]] | None = None

    # -- as cells ---------------------------------------------------------------------------------

    def cells(self, state: str, frame: int, width: int) -> list[Cell]:
        """Every cell, in order; while work runs, those that change keep their widths."""
        if self.past is not None:
            return self.past()

        def wide(text: str, width: int) -> str:
            return f"{text:>{width}}" if state in BUSY else text

        cells: list[Cell] = []
        if self.badge:
            cells.append(cell(Content.styled(self.badge, "bold $accent reverse"), 100))
        if self.view.setup.demo:
            cells.append(cell(Content.styled(" DEMO ", "bold $warning reverse"), 100, "demo"))
        cells.append(cell(self._state(state, frame), 99, "state"))
        servers, fine = self.view.setup.servers, (*CONNECTED, *UNDECIDED, *NOT_WANTED)
        failed = [each for each in servers if each.status not in fine and each.again_s is None]
        # Those that failed and are connected again automatically.
        again = [each for each in servers if each.again_s is not None or each.status == "reconnecting"]
        if failed or again:
            cells.append(self._trouble_cell(failed, again, width))
        cells.append(cell(wide(short_time(self._seconds()), 6), 90, "elapsed"))
        cells.append(self._money_cell(wide))
        cells.append(cell(f"{wide(short_count(self.view.costs.tokens.total), 4)} tok", 70, "tokens"))
        cells.append(cell(f"ctx {wide(self._share_text(), 4)}", 60, "context"))
        if self.view.setup.model:
            cells.append(cell(short_model(self.view.setup.model), 40, "model"))
        # What is as it should be is not said: `describe` has it.
        if self.view.setup.mode != "default":
            cells.append(self._mode_cell())
        if self.folder in _FOLDERS:
            short = (Content.styled("folder!", "$text-muted"), 54)
            cells.append(cell(_FOLDERS[self.folder][0], 26, "folder", short))
        if not failed and not again and any(each.status in UNDECIDED for each in servers):
            cells.append(cell(self._server_counts(), 45, "servers"))
        if self.view.setup.tracing_failed:
            cells.append(cell(Content.styled("✗ tracing", "$text-warning"), 35, "tracing"))
        return cells

    def _state(self, state: str, frame: int) -> Content:
        turning = spinner(frame)
        word, mark, style = {
            "running": (self._doing(), turning, "$text-accent"),
            "stopping": ("stopping…", turning, "$text-accent"),
            "starting": ("starting", turning, "$text-accent"),
            "idle": ("ready", "●", "$text-muted"),
            "failed": ("failed", "✗", "bold $text-error"),
            "not set up": ("not set up", "?", "bold $text-warning"),
        }.get(state, (state, "·", "$text-muted"))
        if self.view.activity.needs_person:
            word, mark, style = "needs you", "?", "bold $text-warning"
        elif state == "running" and (silent := self.view.activity.silent) is not None:
            since = silent.at.timestamp() - silent.silent_ms / 1000
            word = f"{clean_line(silent.name, 20) or 'no answer'} {short_time(self.clock() - since)}"
            style = "$text-warning"
        return Content.styled(f"{mark} {word:<9}" if state in BUSY else f"{mark} {word}", style)

    def _doing(self) -> str:
        if (retry := self.view.activity.retry) is not None:
            return f"retry {retry.attempt}"
        if self.view.activity.calls:
            return "tools"
        if self.view.activity.doing == "writing":
            return "writing"
        return "thinking" if self.view.activity.queries else "working"

    def _server_counts(self) -> str:
        wanted = [server for server in self.view.setup.servers if server.status not in NOT_WANTED]
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

    def _money_cell(self, wide: Callable[[str, int], str]) -> Cell:
        costs = self.view.costs
        spent = f"{'~' if costs.estimated else ''}{money(costs.total or 0.0, self._digits())}"
        if costs.all_unpriced:
            spent = f"≥{spent}" if costs.total else "cost ?"
        if costs.limit is None and costs.inherited >= 0.005:
            both = f"{spent} (+{money(costs.inherited, self._digits())})"
            return cell(both, 80, "cost", (Content.styled(spent, "$text-muted"), 81))
        if costs.limit is None:
            return cell(wide(spent, 7), 80, "cost")
        limit = money(costs.limit, self._digits())
        mark = {"": " ", "warning": "⚠", "spent": "✗"}[costs.level]
        style = {"": "$text-muted", "warning": "bold $text-warning", "spent": "bold $text-error"}[costs.level]
        full = Content.styled(f"{mark} {spent:>{len(limit) + 1}}/{limit}", style)
        if not costs.level:
            return cell(full, 80, "cost")
        narrow = Content.styled(f"{mark} {spent:>{len(limit) + 1}}", style)
        return cell(full, 92, "cost", (narrow, 96), (Content.styled(f"{mark} $", style), KEPT))

    def _digits(self) -> int:
        return 2 if self.view.costs.limit is None or self.view.costs.limit >= 0.01 else 4

    def _mode_cell(self) -> Cell:
        mode = self.view.setup.mode
        word = MODES.get(mode, clean_line(mode, 20))
        if mode == "bypassPermissions":
            return cell(Content.styled(word, "bold $text-error"), KEPT, "mode")
        return cell(word, 75, "mode")

    # -- figures ----------------------------------------------------------------------------------

    def _seconds(self) -> float:
        # While the work is being stopped, the time is that of stopping.
        if self.stopping_since is not None:
            return self.clock() - self.stopping_since
        running = next(reversed(self.view.activity.queries.values()), None)
        if running is not None:
            return self.clock() - running.at.timestamp()
        last = self.view.last_query
        return last.end.duration_ms / 1000 if last is not None and last.end is not None else 0.0

    def _share_text(self) -> str:
        """How full the context is; in tokens if its size stays unknown, as that of a model without a price does."""
        costs = self.view.costs
        if not costs.context:
            return "0%"
        if costs.window is None:
            return short_count(costs.context) if costs.all_unpriced else "–"
        return f"{min(999, round(100 * costs.context / costs.window))}%"

    # -- in sentences -----------------------------------------------------------------------------

    def describe(self) -> list[tuple[str, str]]:
        """Describe everything that the line shows, each with a label and a sentence."""
        from ua_tui.core.events.describe import MODE_RULES, describe_plan

        if self.past is not None:
            return []
        setup, tokens = self.view.setup, self.view.costs.tokens
        model = clean_line(setup.model, 100) if setup.model else "default"
        cached = "" if tokens.cached_share is None else f"; {tokens.cached_share:.0%} of the input was cached"
        rows = [
            ("Model", f"{model} (scripted, for the demo)" if setup.demo else model),
            ("Effort", effort_of(setup.effort)),
            ("Fallback", fallback_of(setup.fallback_model)),
            ("Permissions", MODE_RULES.get(setup.mode, clean_line(setup.mode, 20))),
        ]
        if self.folder in _FOLDERS:
            rows.append(("Folder", _FOLDERS[self.folder][1]))
        if setup.untrusted:
            rows.append(
                ("Untrusted text", f"{setup.untrusted}; calls that can send data out need your permission")
            )
        rows.append(("Path", self._describe_path()))
        rows.append(("Context", self._describe_context()))
        rows.append(("Tokens", f"{tokens.total:,} with sub-agents{cached}"))
        if setup.plan is not None:
            rows.append(("Plan", describe_plan(setup.plan, datetime.now(UTC))))
        rows.append(("Cost", self._describe_cost()))
        for server in self.view.setup.servers:
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
        from ua_tui.core.events.describe import PATHS

        match self.view.setup.path:
            case QueryClassified(decision=decision, source=source, raw_response=response):
                path = f"{PATHS.get(decision, decision)}, {DECIDERS.get(source, '')}"
                why = "" if source == "model" else clean_line(response, 200)
                return f"{path} ({why})" if why else path
            case PathFellBack(tool_name=tool):
                called = tool_label(tool, {})
                return (
                    f"{PATHS['COMPLEX']}: the query began as a direct answer, but the model called {called}"
                )
            case _:
                return "not chosen yet: a query gets a direct answer, or the full agent with its tools"

    def _describe_context(self) -> str:
        costs = self.view.costs
        if costs.window is None:
            how = "unknown (setting context_window)" if costs.all_unpriced else "not known yet"
            return f"{costs.context:,} tokens; the model's context window is {how}"
        return f"{costs.context:,} of {costs.window:,} tokens, {self._share_text()}"

    def _describe_cost(self) -> str:
        costs, digits = self.view.costs, self._digits()
        spent = money(costs.total or 0.0, digits)
        text = f"{spent} including sub-agents"
        if unpriced := costs.all_unpriced:
            known = f"{spent} plus an unknown amount" if costs.total else "unknown"
            text = f"{known}: no price is set for {clean_line(', '.join(unpriced), 200)} (setting prices)"
        if costs.estimated:
            text += "; the cost of the running query is an estimate until it ends"
        if costs.inherited:
            text += f"; {money(costs.inherited, digits)} before the fork, which is not counted"
        if costs.limit is None:
            return f"{text}; no spending limit (/budget sets one)"
        limit = money(costs.limit, digits)
        if costs.level == "spent":
            return f"{text}; spending limit of {limit} reached: /budget raises it"
        return f"{text}; limit {limit}, with a warning at {money(WARN_AT * costs.limit, digits)}"

    def _describe_tracing(self) -> str:
        if self.view.setup.tracing_failed:
            return f"failed: {self.view.setup.tracing_failed}"
        if self.tracing:
            return f"on: spans go to {' and '.join(self.tracing)}, and to spans.jsonl in the session's folder"
        return "off: spans stay on this machine, in spans.jsonl in the session's folder"


def _marks(mark: str, count: int) -> str:
    return mark * count if count <= MOST_MARKS else f"{mark}×{count}"


def money(amount: float, digits: int = 2) -> str:
    """Write US dollars in at most six cells, as long as they are less than a million."""
    return f"${amount:.{digits}f}" if amount < 1000 else f"${amount:.0f}"
