from __future__ import annotations

import pytest
from textual import events
from textual.app import ComposeResult
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from tests.waiting import until
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.base_app import BaseApp


class Late(Static):
    """Has something called when it is removed."""

    async def on_unmount(self) -> None:
        self.app.call_later(self.app.exit, "called")


class Slow(Static):
    """Handles a message so late that the application has begun to end, and then looks for another widget."""

    class Begin(Message):
        """Begins it."""

    def __init__(self, *, in_worker: bool = False) -> None:
        super().__init__()
        self._in_worker = in_worker

    async def on_slow_begin(self) -> None:
        if self._in_worker:
            _: Worker[None] = self.app.run_worker(self._find_late)
        else:
            await self._find_late()

    async def _find_late(self) -> None:
        app = self.app
        await until(lambda: not app.query(Late))
        app.query_one(Late)


class Host(BaseApp):
    """Shows one widget, and others."""

    def __init__(self, *others: Widget) -> None:
        super().__init__(Settings())
        self._others = others

    def compose(self) -> ComposeResult:
        yield Late()
        yield from self._others


async def test_nothing_is_called_while_the_widgets_are_removed_at_the_end() -> None:
    app = Host()
    async with app.run_test():
        assert app.is_running
    assert app.return_value is None


@pytest.mark.parametrize("in_worker", [False, True], ids=["message", "worker"])
async def test_what_is_under_way_at_the_end_may_find_no_widgets(in_worker: bool) -> None:
    slow = Slow(in_worker=in_worker)
    app = Host(slow)
    async with app.run_test():
        slow.post_message(Slow.Begin())
    assert app.return_code in (None, 0)


async def test_what_is_under_way_at_the_end_may_not_fail_otherwise() -> None:
    class Broken(Slow):
        async def on_slow_begin(self) -> None:
            raise ValueError("a fault")

    broken = Broken()
    with pytest.raises(ValueError, match="a fault"):
        async with Host(broken).run_test():
            broken.post_message(Slow.Begin())


async def test_a_click_on_a_widget_that_was_just_removed_does_nothing() -> None:
    other = Static("other")
    app = Host(other)
    async with app.run_test() as pilot:
        await pilot.pause()
        # The next layout comes after the batch.
        with app.batch_update():
            await other.remove()
            for kind in (events.MouseDown, events.MouseMove, events.MouseUp):
                await app.on_event(kind(other, 1, 1, 0, 0, 1, False, False, False, 1, 1))
        assert app.is_running
    assert not app.return_code
