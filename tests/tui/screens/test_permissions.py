from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import screen_text
from tests.waiting import until
from ua_tui.core.agent.permissions.rule_set import RuleSet, RuleStore
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import PermissionAnswered, PermissionApplied
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.tui.screens.services.permissions import PermissionsScreen

AT = datetime(2026, 11, 21, 14, 2, tzinfo=UTC)


def session_with_rules(tmp_path: Path) -> tuple[FakeSession, RuleStore]:
    store = RuleStore(tmp_path / "state")
    used = Rule("deny", "Bash(rm:*)", "config.toml")
    store.add(Rule("allow", "GMAIL_SEND_EMAIL(recipient_email=*@firm.example)", server="composio"), tmp_path)
    store.note_used({used: AT})
    session = make_session(tmp_path)
    session.rules = RuleSet([used], store, tmp_path)
    return session, store


def write_journal(session: FakeSession) -> None:
    events = [
        PermissionApplied(tool_name="Bash", decision="deny", rule="Bash(rm:*)", origin="settings", at=AT),
        PermissionAnswered(
            request_id="r1", tool_name="NOTION_GET_PAGE", decision="allow", scope="once", at=AT
        ),
    ]
    path = session.workspace.path / JOURNAL
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in events))


async def test_rules_with_their_origin_and_last_use_are_removed_with_one_key(tmp_path: Path) -> None:
    session, store = session_with_rules(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: app.state == "idle")
        write_journal(session)
        app.push_screen(PermissionsScreen(lambda: app.session))
        last_used = f"config.toml   {AT.astimezone():%Y-%m-%d %H:%M}"
        for text in ("2 rules · 2 decisions", last_used, "rule (settings) · Bash(rm:*)", "you, once"):
            await until(lambda text=text: text in screen_text(app))  # type: ignore[misc]
        await pilot.press("d")
        await until(lambda: "change it there" in screen_text(app))
        await pilot.press("down")
        await until(lambda: "in this folder, until you remove it" in screen_text(app))
        await pilot.press("d")
        await until(lambda: "1 rule ·" in screen_text(app))
        assert store.rules() == []
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, PermissionsScreen))


async def test_without_rules_it_says_what_happens_and_a_damaged_file_is_reported(tmp_path: Path) -> None:
    session, _ = session_with_rules(tmp_path)
    (tmp_path / "state" / "permissions.json").write_text("{")
    session.rules = RuleSet([], RuleStore(tmp_path / "state"), tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(120, 40)):
        await until(lambda: app.state == "idle")
        write_journal(session)
        app.push_screen(PermissionsScreen(lambda: app.session))
        await until(lambda: "could not be read" in screen_text(app))
        await until(lambda: "No rules yet" in screen_text(app))
