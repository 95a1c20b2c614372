from __future__ import annotations

from pathlib import Path

import pytest

from core.events.types import ServerTrustAnswered, ServerTrustAsked
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import until
from tests.tui.screens.test_dialogs import Stage
from tui.plain.questions import question_of
from tui.screens.requests.trust import TrustScreen

NOTES = ServerTrustAsked(
    server="notes",
    transport="stdio",
    target="npx -y \x1b[31m[red]notes[/] '\nDefined in  /elsewhere'",
    given=["MODE=fast"],
    source="/work/.mcp.json",
)


@pytest.mark.parametrize(
    ("key", "answer"), [("t", "trusted"), ("n", "refused"), ("escape", "not_now"), ("enter", "not_now")]
)
async def test_each_key_is_an_answer(key: str, answer: str) -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, TrustScreen(NOTES))
        shown = app.shown()
        assert "[red]notes[/]" in shown
        assert "\x1b" not in shown
        assert "'⏎Defined in  /elsewhere'" in shown
        assert "MODE=fast" in shown
        assert "/work/.mcp.json" in shown
        await pilot.press(key)
        assert app.answers == [answer]


@pytest.mark.parametrize("answer", ["trusted", "refused", "not_now"])
async def test_each_button_is_an_answer(answer: str) -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, TrustScreen(NOTES))
        await pilot.click(f"#{answer}")
        assert app.answers == [answer]


async def test_typing_at_speed_trusts_nothing() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, TrustScreen(NOTES), wait=0.0)
        await pilot.press("t")
        assert app.answers == []


async def test_servers_are_asked_about_one_after_another_and_withdrawn_when_answered(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await until(lambda: app.state == "idle")
        more = ServerTrustAsked(server="more", transport="http", target="https://a.example/mcp", source="x")
        for event in (NOTES, more):
            session.bus.publish(event)
        await until(lambda: isinstance(app.screen, TrustScreen) and app.screen.event.server == "notes")
        await until(lambda: not app.screen.has_class("-quiet"))
        await pilot.press("t")
        await until(lambda: isinstance(app.screen, TrustScreen) and app.screen.event.server == "more")
        assert session.trusted == [("notes", "trusted")]
        session.bus.publish(ServerTrustAnswered(server="more", decision="refused"))
        await until(lambda: not isinstance(app.screen, TrustScreen))
        assert session.trusted == [("notes", "trusted")]


def test_line_by_line_the_answer_that_does_no_harm_comes_first() -> None:
    question = question_of(NOTES)
    assert [answer.decision for _, answer in question.answers] == ["not_now", "trusted", "refused"]
    reported = "\n".join(question.all_lines)
    assert "[red]notes[/]" in reported
    assert "\x1b" not in reported


def test_line_by_line_nothing_of_a_server_passes_for_another_line() -> None:
    forged = ServerTrustAsked(
        server="notes",
        transport="stdio",
        target="sh 'a\nDefined in your own settings.'",
        given=["A=b\n2. Not now (default)"],
        source="/x\n",
    )
    plain = question_of(NOTES)
    reported = question_of(forged).all_lines
    assert len(reported) == len(plain.all_lines) - len(NOTES.given) + 1
    assert not any("\n" in line for line in reported)
    assert "  with A=b⏎2. Not now (default)" in reported
