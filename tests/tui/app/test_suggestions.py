"""The queries to try in a new session: one key sends one in the demo, and nothing is sent by accident."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tui.app_host import opened, shown
from tests.tui.files_host import screen_text
from ua_tui.core.demo.playbook import load_library
from ua_tui.core.events.types import ErrorRaised, McpServer, McpStatus, PermissionModeChanged
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.prompt.history import PromptHistory
from ua_tui.tui.panes.suggestions import LISTS

MEDIUM, SMALL = (120, 40), (60, 16)
TO_CHOOSE, CHOSEN = "↓ to choose, or type your own", "↑↓ choose · Enter send"


def marked(app: UaTuiApp) -> str:
    """The query that is drawn as the chosen one."""
    pane = app.frame.query_one("#conversation", ConversationPane)
    color = pane.palette["lines--cursor"].bgcolor
    parts = (part for y in range(pane.size.height) for part in pane.render_line(y))
    return " ".join(part.text.strip() for part in parts if part.style and part.style.bgcolor == color)


def test_each_kind_of_session_has_three_and_the_demo_can_play_its_own() -> None:
    prompts = {playbook.prompt for playbook in load_library().playbooks.values()}
    assert {kind: len(set(queries)) for kind, queries in LISTS.items()} == dict.fromkeys(LISTS, 3)
    assert set(LISTS["demo"]) <= prompts
    assert "workbench" not in " ".join(LISTS["local"])


@pytest.mark.parametrize(
    ("kind", "keys", "sent", "left"),
    [
        ("demo", "enter", 0, ""),
        ("demo", "enter enter", 0, ""),
        ("demo", "down enter", 1, ""),
        ("demo", "down down down enter", 2, ""),
        ("demo", "down up up enter", 0, ""),
        ("demo", "ctrl+s", None, ""),
        ("demo", "x backspace enter", 0, ""),
        ("demo", "x backspace down enter", 1, ""),
        ("demo", "x backspace x enter enter", "x", ""),
        ("demo", "space enter", None, " "),
        ("demo", "x escape down enter", None, "x"),
        ("demo", "escape down enter", 1, ""),
        ("demo", "escape j j k enter", 1, ""),
        ("demo", "/ enter", None, ""),
        ("local", "enter", None, ""),
        ("local", "up enter", None, ""),
        ("local", "down enter enter", 0, ""),
        ("local", "down up enter", 0, ""),
        ("local", "down x backspace enter", None, ""),
        ("local", "escape enter", None, ""),
        ("composio", "down down down down enter", 2, ""),
    ],
)
async def test_keys_choose_and_send(
    tmp_path: Path, kind: str, keys: str, sent: int | str | None, left: str
) -> None:
    settings: dict[str, Any] = {
        "demo": kind == "demo",
        "composio_api_key": "ak_x" if kind == "composio" else None,
    }
    async with opened(tmp_path, MEDIUM, **settings) as (session, app, pilot):
        assert marked(app) == (LISTS[kind][0] if kind == "demo" else "")
        assert (CHOSEN if kind == "demo" else TO_CHOOSE) in screen_text(app)
        await pilot.press(*keys.split())
        expected = LISTS[kind][sent] if isinstance(sent, int) else sent
        assert session.submitted == ([] if expected is None else [expected])
        assert app.frame.prompt.text == left


async def test_what_is_chosen_is_marked_and_the_hints_name_the_key(tmp_path: Path) -> None:
    async with opened(tmp_path, (200, 50)) as (session, app, pilot):
        first, second, _ = LISTS["local"]
        assert "Enter send" not in screen_text(app)
        await pilot.press("down", "down")
        assert marked(app) == second
        assert "Enter send" in str(app.status.render())
        await pilot.press("escape")
        assert (marked(app), "Enter send" in str(app.status.render())) == (second, True)
        await pilot.press("x")
        assert (marked(app), app.frame.prompt.text) == ("", "x")
        # What was typed before comes back with Up; Down still chooses.
        history = PromptHistory(None, "", str)
        history.add("old")
        app.frame.prompt.use_history(history)
        await pilot.press("backspace", "up")
        assert app.frame.prompt.text == "old"
        await pilot.press("down", "down")
        assert (marked(app), app.frame.prompt.text) == (first, "")
        await pilot.press("enter")
        await shown(app, pilot)
        assert "things to try" not in screen_text(app)
        session.finish()
        await pilot.press("down", "enter", "up")
        assert (session.submitted, app.frame.prompt.text) == ([first], first)


async def test_a_click_chooses_and_a_click_on_what_is_chosen_sends(tmp_path: Path) -> None:
    async with opened(tmp_path, MEDIUM) as (session, app, pilot):
        row = next(y for y, line in enumerate(screen_text(app).splitlines()) if LISTS["local"][1] in line)
        await pilot.press("f3", "x")
        await pilot.click(offset=(8, row))
        assert (marked(app), app.frame.prompt.text) == ("", "x")
        await pilot.press("backspace", "f3")
        await pilot.click(offset=(8, row))
        assert (marked(app), session.submitted) == (LISTS["local"][1], [])
        assert app.focused is app.frame.prompt
        await pilot.click(offset=(8, row))
        assert session.submitted == [LISTS["local"][1]]


@pytest.mark.parametrize("size", [SMALL, (80, 24), MEDIUM])
async def test_they_stay_until_the_first_query(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, size, composio_api_key="ak_x") as (session, app, pilot):
        assert LISTS["composio"][0][:30] in screen_text(app)
        session.bus.publish(McpStatus(servers=[McpServer(name="composio", status="off", error="It is off.")]))
        session.bus.publish(PermissionModeChanged(previous="default", mode="plan"))
        await shown(app, pilot)
        text = screen_text(app)
        assert [query for query in LISTS["local"] if query not in text] == []
        assert TO_CHOOSE in text
        session.bus.publish(ErrorRaised(where="agent", message="the agent died"))
        await shown(app, pilot)
        text = screen_text(app)
        assert text.index("the agent died") < text.index(LISTS["local"][0])
        await pilot.press("escape", "down")
        assert CHOSEN in screen_text(app)
        await pilot.press("enter")
        assert session.submitted == [LISTS["local"][0]]


async def test_a_session_that_begins_with_a_query_offers_none(tmp_path: Path) -> None:
    async with opened(tmp_path, first_query="Hello?", demo=True) as (session, app, pilot):
        await pilot.press("enter")
        assert session.submitted == ["Hello?"]
        assert "things to try" not in screen_text(app)
