from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from tui.app.base_app import BaseApp


class Late(Static):
    """Has something called when it is removed."""

    async def on_unmount(self) -> None:
        self.app.call_later(self.app.exit, "called")


class Host(BaseApp):
    """Shows one widget."""

    def compose(self) -> ComposeResult:
        yield Late()


async def test_nothing_is_called_while_the_widgets_are_removed_at_the_end() -> None:
    app = Host(None, None)
    async with app.run_test():
        assert app.is_running
    assert app.return_value is None
