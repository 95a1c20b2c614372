from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from tests.notes_server import Desk
from tests.tui.panes.test_prompt import PromptApp
from tests.tui.panes.test_prompt_completion import offered, offers
from ua_tui.core.agent.attachments.places import AttachmentPlaces
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.tui.panes.prompt.attachments import AttachmentBar
from ua_tui.tui.panes.prompt.completion import sought_at
from ua_tui.tui.widgets.command import Command


class FilesApp(PromptApp):
    """A prompt with what is above it."""

    def rows(self) -> list[str]:
        """The rows of what the text names, without thumbnails."""
        bars = self.query(AttachmentBar)
        return [bar._row(y, 100).plain.rstrip() for bar in bars for y in range(len(bar.files))]


@asynccontextmanager
async def prompted(tmp_path: Path) -> AsyncIterator[tuple[FilesApp, Pilot[None], Desk]]:
    """A prompt whose session has an own server."""
    workspace = Workspace.create(tmp_path, datetime(2026, 11, 22, tzinfo=UTC), redactor=Redactor(()))
    desk = Desk(workspace)
    app = FilesApp()
    async with app.run_test(size=(110, 40), notifications=True) as pilot:
        app.prompt.offer_files(AttachmentPlaces(workspace.path))
        app.prompt.offer_references(desk.references)
        app.prompt.offer_commands([Command("quit", "Quit", "", list)])
        app.prompt.prepare = desk.references.prepare
        yield app, pilot, desk
    workspace.close()


async def type_text(app: FilesApp, pilot: Pilot[None], text: str) -> list[str]:
    """Write a text as if it were typed, and wait for what is offered and shown."""
    app.prompt.insert(text)
    return await offered(app, pilot)


async def test_a_resource_is_completed_shown_and_sent(tmp_path: Path) -> None:
    async with prompted(tmp_path) as (app, pilot, desk):
        assert "@notes:" in (await type_text(app, pilot, "@no"))[0]
        assert desk.asked == 0
        await pilot.press("tab")
        listed = await offered(app, pilot)
        assert [line.split()[0] for line in listed] == [
            "notes://today",
            "notes://logo",
            "notes://zip",
            "notes://day/{day}",
        ]
        assert "\x1b" not in "".join(listed)
        assert [line.split()[0] for line in await type_text(app, pilot, "tod")] == ["notes://today"]
        await pilot.press("tab")
        await offered(app, pilot)
        assert app.prompt.text == "@notes:notes://today "
        (row,) = app.rows()
        assert row.startswith("@ notes:notes://today  text/plain · 24B · milk 1 [redacted]")
        # A name that is still written is not read.
        await type_text(app, pilot, "and @notes:notes://lo")
        assert len(app.rows()) == 1
        await type_text(app, pilot, "go ")
        assert app.rows()[1].startswith("@ notes:notes://logo  image/png · 3 × 2 ·")
        asked = desk.asked
        await pilot.press("enter")
        await offered(app, pilot)
        assert app.sent == ["@notes:notes://today and @notes:notes://logo"]
        # What was shown is what is sent.
        assert desk.asked == asked


async def test_nothing_that_was_typed_is_lost_if_it_cannot_be_sent(tmp_path: Path) -> None:
    async with prompted(tmp_path) as (app, pilot, desk):
        for text, said in (
            ("see @notes:notes://nope ", "notes://nope of notes cannot be read"),
            ("/notes:nope", "notes has no prompt nope: type /notes: to list its prompts."),
            ("/notes:review", "/notes:Review topic [style] needs a value for topic."),
        ):
            await type_text(app, pilot, text)
            app.prompt._completer.hide()
            await pilot.press("enter")
            await offered(app, pilot)
            assert said in [each.message for each in app._notifications][-1]
            assert (app.prompt.text, app.sent) == (text, [])
            app.prompt.load_text("")
        desk.status = "failed"
        await type_text(app, pilot, "@notes:notes://today ")
        assert "notes is not connected: reconnect it with r in /connections" in app.rows()[0]
        # Enter asks again.
        desk.status = "connected"
        await pilot.press("enter")
        await offered(app, pilot)
        assert app.sent == ["@notes:notes://today"]


async def test_a_query_that_takes_the_place_of_another_is_read_and_sent_once(tmp_path: Path) -> None:
    async with prompted(tmp_path) as (app, pilot, _desk):
        asked, answers = [], asyncio.Event()

        async def prepare(text: str) -> None:
            asked.append(text)
            await answers.wait()

        app.prompt.prepare = prepare
        for text in ("/notes:shown", "/notes:shown again"):
            app.prompt.load_text(text)
            app.prompt._completer.hide()
            await pilot.press("enter")
            await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert asked == ["/notes:shown", "/notes:shown again"]
        assert offers(app) == ["Reading what the query names…"]
        answers.set()
        await offered(app, pilot)
        assert app.sent == ["/notes:shown again"]


async def test_a_prompt_is_completed_with_its_arguments_and_sent(tmp_path: Path) -> None:
    async with prompted(tmp_path) as (app, pilot, _desk):
        (line, *_) = await type_text(app, pilot, "/notes:re")
        assert line.split() == ["/notes:Review", "Reviews", "·", "topic", "[style]"]
        await pilot.press("tab")
        assert offers(app) == ["topic · style (optional)"]
        await type_text(app, pilot, "milk")
        await pilot.press("enter")
        await offered(app, pilot)
        assert app.sent == ["/notes:Review milk"]
        await type_text(app, pilot, "/notes:sho")
        await pilot.press("enter", "enter")
        await offered(app, pilot)
        assert app.sent[1:] == ["/notes:shown"]


async def test_a_server_that_does_not_answer_is_reported_where_its_resources_would_be(tmp_path: Path) -> None:
    async with prompted(tmp_path) as (app, pilot, desk):
        desk.gone = True
        (note,) = await type_text(app, pilot, "@notes:")
        assert note == "the request to notes failed (it ended without a message): see `ua-tui doctor`."
        desk.gone = False
        await pilot.press("backspace")
        assert "notes://today" in (await type_text(app, pilot, ":"))[0]


def test_a_name_is_written_as_far_as_it_is_known() -> None:
    sought = sought_at(0, "/notes:a.b")
    assert sought is not None
    assert (sought.kind, sought.text) == ("command", "notes:a.b")
