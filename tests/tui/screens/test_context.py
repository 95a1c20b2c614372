"""What fills the context, on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from textual.widgets import Static

from core.agent.messages.context_usage import ContextPart, ContextUsage
from core.errors import ConnectionFailed
from tests.tui.fakes import FakeSession, make_session
from tests.tui.screens.test_dialogs import Stage
from tests.waiting import until
from tui.ports import SessionPort
from tui.screens.session.context import ContextScreen, describe_usage

USAGE = ContextUsage(
    "some-model",
    50_000,
    200_000,
    (
        ContextPart("Messages", 50_000, details=(("answers", 40_000),)),
        ContextPart("Free", 150_000, is_used=False),
    ),
)


async def shown(session: FakeSession | None) -> str:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, ContextScreen(cast("SessionPort | None", session)))

        def text() -> str:
            return "\n".join(str(each.content) for each in app.screen.query(Static).results(Static))

        await until(lambda: "Asking" not in text())
        found = text()
        await pilot.press("escape")
    return found


async def test_the_agent_is_asked_what_fills_the_context(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    session.usage = USAGE
    text = await shown(session)
    assert "50,000 of 200,000 tokens (25%) · some-model" in text
    assert "answers 40k" in text
    session.usage = None
    assert "not connected" in await shown(session)
    assert "not connected" in await shown(None)


async def test_the_reason_is_shown_if_it_does_not_answer(tmp_path: Path) -> None:
    class Silent(FakeSession):
        async def context_usage(self) -> ContextUsage | None:
            raise ConnectionFailed("it is gone")

    assert "did not say what fills the context: it is gone" in await shown(
        Silent(make_session(tmp_path).workspace)
    )


def test_the_share_of_an_unknown_window_is_not_invented() -> None:
    guess = ContextUsage("local", 50_000, 1_000_000, USAGE.parts, is_guess=True)
    text = describe_usage(guess).plain
    assert "50,000 of an unknown number of tokens · local" in text
    assert "%" not in text
    assert "Free" not in text
