from __future__ import annotations

from datetime import UTC, datetime

from ua_tui.core.events.tool_names import describe_plan, steps_of
from ua_tui.core.events.types import QueryReceived, ToolCallStarted
from ua_tui.core.view.session import fold


def test_only_steps_are_read() -> None:
    given = [
        {"content": "Read\x1b[2J it", "status": "in_progress", "activeForm": 5},
        {"content": " "},
        1,
        None,
    ]
    (step,) = steps_of({"todos": given})
    assert step.running
    assert "\x1b" not in step.text
    assert step.doing == step.text
    assert steps_of({"todos": "x"}) == steps_of({}) == ()
    assert len(steps_of({"todos": [{"content": str(number)} for number in range(1_000)]})) == 100
    assert describe_plan(steps_of({"todos": [{"content": "a", "status": "completed"}, *given]})).startswith(
        "1 of 2 done · "
    )


def _call(at: int, *states: str, parent: str | None = None) -> ToolCallStarted:
    todos = [{"content": f"step {number}", "status": state} for number, state in enumerate(states)]
    return ToolCallStarted(
        at=datetime.fromtimestamp(at, UTC), query_id="q", tool_use_id=f"t{at}", name="TodoWrite",
        input={"todos": todos}, parent_tool_use_id=parent,
    )  # fmt: skip


def test_steps_keep_their_times_until_the_next_query() -> None:
    query = QueryReceived(at=datetime.fromtimestamp(0, UTC), query_id="q", text="?")
    view = fold([query, _call(10, "in_progress", "pending"), _call(20, "completed", "in_progress")])
    assert [(step.began, step.ended) for step in view.plan] == [(10, 20), (20, None)]
    later = view.then([_call(25, "pending", parent="t1"), _call(30, "completed", "completed")])
    assert [(step.began, step.ended) for step in later.plan] == [(10, 20), (20, 30)]
    assert [step.state for step in view.plan] == ["completed", "in_progress"]
    assert later.then([query]).plan == ()
