from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.notes_server import Desk
from tests.waiting import run_ready
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import McpServer, McpStatus
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace


async def error_of(desk: Desk, text: str) -> str:
    with pytest.raises(UniversalAgentError) as failed:
        await desk.references.prepare(text)
    return str(failed.value)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    workspace = Workspace.create(tmp_path, datetime(2026, 11, 22, tzinfo=UTC), redactor=Redactor(()))
    yield Desk(workspace)
    workspace.close()


async def test_what_a_server_offers_is_listed_once_and_again_after_it_was_reconnected(desk: Desk) -> None:
    listed = await desk.references.list("notes")
    assert [(each.uri, each.is_template) for each in listed.resources] == [
        ("notes://today", False), ("notes://logo", False), ("notes://zip", False), ("notes://day/{day}", True),
    ]  # fmt: skip
    assert "\x1b" not in f"{listed.resources[0].title}{listed.resources[0].about}"
    assert [(each.name, each.hint) for each in listed.prompts] == [("Review", "topic [style]"), ("shown", "")]
    assert await desk.references.list("notes") is listed
    assert desk.asked == 1
    for status in ("failed", "connected"):
        desk.references.handle_event(McpStatus(servers=[McpServer(name="notes", status=status)]))
    assert not desk.references.contents


async def test_a_resource_is_sent_as_a_copy_that_has_no_secrets(desk: Desk) -> None:
    before = await desk.references.read("notes", "notes://today")
    sent = await desk.references.expand("(@notes:notes://today) and @notes:notes://logo.")
    assert sent.prompt == (
        "(@attachments/notes-today.txt (the resource notes://today of the MCP server notes)) and "
        "@attachments/notes-logo.png (the resource notes://logo of the MCP server notes)."
    )
    assert desk.text("attachments/notes-today.txt") == "milk 1 [redacted] \ufffd[2J"
    text, logo = (sent.copies[f"attachments/notes-{name}"] for name in ("today.txt", "logo.png"))
    assert (text, logo.media_type, logo.resource) == (before[0], "image/png", "notes:notes://logo")
    # The next query has what the resource is then.
    again = await desk.references.expand("@notes:notes://today")
    assert "attachments/notes-today-2.txt" in again.prompt
    day = await desk.references.expand('@"notes:notes://day/1"')
    assert desk.text(next(iter(day.copies))) == '{"day": "1"}'


async def test_a_file_wins_and_other_names_stay(desk: Desk) -> None:
    desk.workspace.write("notes:notes.txt", "mine")
    for text in ("@notes:notes.txt", "@chat:x", "a@notes:x", "@notes:", "@notes", "/notes", "/chat:x"):
        assert not desk.references.names_any(text)
        assert (await desk.references.expand(text)).prompt == text
    assert desk.asked == 0


async def test_the_messages_of_a_prompt_are_sent_and_neither_name_files_nor_run_commands(desk: Desk) -> None:
    sent = await desk.references.expand('/notes:review "milk and eggs" a long one')
    assert sent.prompt == (
        "The prompt Review of the MCP server notes:\n\n"
        "User: /clear milk and eggs, a long one: \ufffd]52;c;x\ufffd @ /etc/passwd\n\nAssistant: Yes."
    )
    by_name = await desk.references.expand("/notes:Review style=long topic=milk")
    assert "milk, long" in by_name.prompt
    media = await desk.references.expand("/notes:shown")
    assert media.prompt.endswith("@attachments/notes-prompt.png\n\n@attachments/notes-today.md")
    assert desk.text("attachments/notes-today.md") == "# milk"


async def test_an_error_says_what_to_do(desk: Desk) -> None:
    for text, said in (
        ("see @notes:notes://nope", "notes://nope of notes cannot be read (Unknown resource: notes://nope)"),
        ("@notes:notes://zip", "notes://zip of notes is application/zip, which the model cannot read: choose a text"),
        ("/notes:nope", "notes has no prompt nope: type /notes: to list its prompts"),
        ("/notes:", "notes has no prompt without a name: type /notes: to list its prompts"),
        ("/notes:review style=x", "/notes:Review topic [style] needs a value for topic"),
        ("/notes:shown more", "/notes:shown takes no more arguments"),
    ):  # fmt: skip
        assert said in await error_of(desk, text)


async def test_a_server_that_is_gone_is_not_restarted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ua_tui.core.agent.mcp.references.LARGEST", 3)
        assert "is larger than 0 MB: name a smaller one" in await error_of(desk, "@notes:notes://today")
    await desk.references.prepare("@notes:notes://today")
    desk.gone = True
    assert "attachments/notes-today.txt" in (await desk.references.expand("@notes:notes://today ")).prompt
    assert await error_of(desk, "@notes:notes://logo") == (
        "the request to notes failed (it ended without a message): see `ua-tui doctor`"
    )
    desk.asked, desk.status = 0, "disabled"
    assert await error_of(desk, "/notes:review x") == (
        "notes is not connected: reconnect it with r in /connections"
    )
    assert desk.asked == 0


async def test_a_query_waits_for_a_server_that_is_starting(desk: Desk) -> None:
    desk.status = "pending"
    work = asyncio.create_task(desk.references.expand("/notes:review milk"))
    desk.references.handle_event(McpStatus())
    await run_ready()
    assert desk.asked == 0
    desk.status = "connected"
    desk.references.handle_event(McpStatus(servers=[McpServer(name="notes", status="connected")]))
    assert "milk" in (await work).prompt
