"""What fills the context, on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from tests.tui.fakes import FakeSession, make_session
from tests.tui.screens.test_dialogs import Stage
from tests.waiting import until
from ua_tui.core.agent.messages.usage import ContextPart, ContextUsage
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.session.session import Session
from ua_tui.tui.screens.session.context import ContextScreen, describe_usage

PARTS = (
    ContextPart("Messages", 50_000, details=(("answers", 40_000),)),
    ContextPart("Free", 150_000, is_used=False),
)
USAGE = ContextUsage("some-model", 50_000, 200_000, PARTS)


async def test_the_agent_is_asked_what_fills_the_context(tmp_path: Path) -> None:
    class Silent(FakeSession):
        async def context_usage(self) -> ContextUsage | None:
            raise ConnectionFailed("it is gone")

    session, unknown = make_session(tmp_path), make_session(tmp_path)
    session.usage = USAGE
    app = Stage()
    async with app.run_test() as pilot:
        for asked, wanted in (
            (session, "50,000 of 200,000 tokens (25%) · some-model"), (session, "answers 40k"),
            (unknown, "not connected"), (None, "not connected"),
            (Silent(session.workspace), "did not report what fills the context: it is gone"),
        ):  # fmt: skip
            await app.ask(pilot, ContextScreen(cast("Session | None", asked)))
            await until(lambda wanted=wanted: wanted in app.shown())  # type: ignore[misc]  # of this turn
            await pilot.press("escape")


def test_the_share_of_an_unknown_window_is_not_invented() -> None:
    guess = ContextUsage("local", 50_000, 1_000_000, PARTS, is_guess=True)
    text = describe_usage(guess).plain
    assert "50,000 of an unknown number of tokens · local" in text
    assert "%" not in text
    assert "Free" not in text
