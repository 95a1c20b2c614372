"""What stays at the top of the conversation while the agent works: its plan, and the call that runs."""

from __future__ import annotations

from rich.segment import Segment

from ua_tui.core.events.tool_names import Step, describe_plan
from ua_tui.core.events.units import duration, live_duration
from ua_tui.core.view.session import AGENTS, SessionView
from ua_tui.tui.panes.conversation.blocks import ConversationTheme
from ua_tui.tui.render.format import Mark, tail_cut
from ua_tui.tui.render.layout import Line, spread, width_of

_PENDING = "·"
_DOING = {
    "thinking": "thinking",
    "writing": "writing",
    "reading": "reading the result",
    "retrying": "waiting",
}


def render_progress(
    view: SessionView, width: int, height: int, theme: ConversationTheme, *, now: float, spinner: str
) -> list[Line]:
    """Render at most `height` lines; none if no query runs, or if it has made no call yet.

    `now` is the time of day in seconds.
    """
    query = view.last_query
    if query is None or query.id not in view.activity.queries or not (query.calls or view.plan) or height < 1:
        return []
    steps = view.plan[_first_of(view.plan, height - 2) :][: height - 2]
    lines = [_step(step, width, theme, now, spinner) for step in steps]
    if len(lines) < len(view.plan):
        summary = describe_plan(view.plan) if not lines else describe_plan(view.plan).partition(" · ")[0]
        lines.insert(0, _line("", f"Plan: {summary}", "", width, theme))
    return [*lines[: height - 1], _running(view, width, theme, now, spinner)]


def plan_text(steps: tuple[Step, ...]) -> str:
    """Write a plan as text, a line for each step, with how long it took."""
    return "\n".join(f"{_mark(step)} {step.text}  {_took(step, None)}".rstrip() for step in steps)


def _first_of(steps: tuple[Step, ...], room: int) -> int:
    """The first step to show where there is no room for all: the one before what is being done."""
    at = next((index for index, step in enumerate(steps) if not step.done), len(steps))
    return max(0, min(at - 1, len(steps) - room))


def _mark(step: Step) -> str:
    return Mark.SUCCESS.glyph if step.done else Mark.RUNNING.glyph if step.running else _PENDING


def _took(step: Step, now: float | None) -> str:
    if step.began is None:
        return ""
    if step.ended is not None:
        return duration(step.ended - step.began) if step.ended - step.began >= 0.1 else ""
    return live_duration(now - step.began) if now is not None else ""


def _step(step: Step, width: int, theme: ConversationTheme, now: float, spinner: str) -> Line:
    mark = spinner if step.running else _mark(step)
    return _line(mark, step.doing if step.running else step.text, _took(step, now), width, theme, step)


def _running(view: SessionView, width: int, theme: ConversationTheme, now: float, spinner: str) -> Line:
    """The newest call of the main agent that runs, or else what the agent does."""
    own = [call for call in view.activity.calls.values() if call.parent_tool_use_id is None]
    call = view.call(own[-1].tool_use_id) if own else None
    if call is None:
        return _line(spinner, _DOING.get(view.activity.doing, "working"), "", width, theme)
    agents = [each for each in own if each.name in AGENTS]
    others = len(own) - 1
    text = call.task or f"{call.label} {call.argument}"
    if len(agents) > 1 and len(agents) == len(own):
        text, others = f"{len(agents)} sub-agents", 0
    parts = (call.done, f"+{others}" if others else "", live_duration(now - call.at.timestamp()))
    return _line(spinner, text, " · ".join(part for part in parts if part), width, theme)


def _line(
    mark: str, text: str, facts: str, width: int, theme: ConversationTheme, step: Step | None = None
) -> Line:
    style = theme.good if step is not None and step.done else theme.caret
    lead = f" {mark} " if mark else " "
    room = max(1, width - width_of(lead) - width_of(facts) - 2)
    words = theme.facts if step is not None and not step.running else theme.agent if step else theme.app
    return spread(
        [Segment(lead, theme.card + style), Segment(tail_cut(text, room), theme.card + words)],
        [Segment(f"{facts} " if facts else "", theme.card + theme.facts)],
        width,
        theme.card,
    )
