"""The cursors of conversation and trace follow each other, if the person wants that."""

from __future__ import annotations

from pathlib import Path

from tests.tui.app_host import at_work, shown
from tests.tui.pane_host import finished, started
from ua_tui.core.events.types import MessageFinished, QueryFinished, SubagentFinished, SubagentStarted
from ua_tui.tui.layout.store import LayoutStore
from ua_tui.tui.panes.conversation.blocks import Fold, Prose, Verbatim
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.trace.pane import TracePane


def said(message: str, text: str, parent: str | None = None) -> MessageFinished:
    return MessageFinished(query_id="q1", message_id=message, text=text, parent_tool_use_id=parent)


async def test_the_cursors_follow_each_other_where_they_are_linked(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.resize_terminal(120, 40)
        for event in (
            said("m1", "I search."),
            started("t1", "WebSearch", query="q1"),
            finished("t1"),
            said("m2", "I delegate."),
            started("a", "Agent", query="q1", subagent_type="expert"),
            SubagentStarted(task_id="k", tool_use_id="a", name="expert"),
            started("a1", "Read", "a", query="q1"),
            finished("a1"),
            said("s1", "I read.", "a"),
            SubagentFinished(task_id="k", tool_use_id="a", name="expert"),
            finished("a"),
            said("m3", "Done."),
            QueryFinished(query_id="q1", status="success", text="Done."),
        ):
            session.bus.publish(event)
        await shown(app, pilot)
        trace, conversation = app.frame.query_one(TracePane), app.frame.query_one(ConversationPane)
        await pilot.press("f3", "home", "down")
        assert conversation.following, "the cursors move separately at first"
        await pilot.press("C", "home")
        await pilot.pause()
        assert isinstance(conversation.cursor, Verbatim)
        found: list[object] = []
        for _ in range(4):
            await pilot.press("down")
            await pilot.pause()
            block = conversation.cursor
            found.append(block.source if isinstance(block, Prose) else isinstance(block, Fold))
        assert [node.key for node in trace.entries[1:]] == ["t1", "a", "a1", "message/s1"]
        assert found == ["I search.", True, True, True]
        await pilot.press("f2", "home")
        seen: list[object] = []
        for _ in range(len(conversation.entries)):
            await pilot.pause()
            assert trace.cursor is not None
            if trace.cursor.key not in seen:
                seen.append(trace.cursor.key)
            await pilot.press("down")
        assert seen == ["query/q1", "t1", "a", "message/s1"], "the end is at the end"
        await pilot.press("end")
        await pilot.pause()
        assert trace.following
        await app.frame.splits.store()
        assert app.frame.splits.linked


def test_a_layout_remembers_that_cursors_are_linked(tmp_path: Path) -> None:
    store = LayoutStore(tmp_path)
    assert not store.read().linked
    (tmp_path / "layout.json").write_text('{"format":1,"sizes":{},"linked":true}')
    assert store.read().linked
