"""A session that runs elsewhere as the source of the screen: followed, answered and interrupted from here."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.errors import JournalError, TeamError
from ua_tui.core.events.types import ElicitationAsked, PermissionAsked
from ua_tui.core.history.session import PastSession
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.team.fleet.followed_session import FollowedSession
from ua_tui.tui.panes.status.bar import StatusLine
from ua_tui.tui.replay.past_source import PastSource
from ua_tui.tui.replay.status import STATES

if TYPE_CHECKING:
    from pathlib import Path

    from ua_tui.core.events.types import Event
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.fleet.followed_session import SessionFolder
    from ua_tui.core.team.records import Mailbox
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.port import SessionHost
    from ua_tui.tui.replay.loader import SessionLoader

POLL_SECONDS = 0.1
OVER = "The session is over."


class FollowedSource(PastSource):
    """Shows a session from its journal, then what happens in it; with a mailbox, one can answer and write to it.

    Args:
        folder: where its files are.
        id: its id in the mailbox.
        mailbox: brings answers and commands to it; None if nobody receives them.
        where: where it runs, for the person.
    """

    refusal = "This session runs elsewhere: that cannot be changed from here."

    def __init__(self, folder: SessionFolder, id: str, mailbox: Mailbox | None, *, where: str = "") -> None:
        super().__init__(None, from_list=True)
        self._folder = folder
        self._id = id
        self._mailbox = mailbox
        self.has_prompt = mailbox is not None
        if mailbox is not None:
            self.followed = self.placeholder = f"Write to the session{f' on {where}' if where else ''}"
        self.is_live = asyncio.Event()
        """Set when the questions of the session are shown, and what happens in it is followed."""

    def make_status(self, settings: Settings, view: SessionView) -> StatusLine:
        """Make the status line, which says how to get back."""
        self._status.unread = STATES["running"]
        line = super().make_status(settings, view)
        line.quits = ("quit", "back")
        return line

    async def open(self, host: SessionHost) -> None:
        """Get the folder of the session, then show it."""
        host.set_state("starting")
        host.status.hint = "loading the session…"
        try:
            folder = await self._folder.start()
            await self._wait_for_journal(folder)
        except TeamError:
            host.set_state("failed")
            raise
        finally:
            host.status.hint = ""
        if self._mailbox is None:
            self.session = PastSession(folder, runs=self._folder.runs)
        else:
            self.session = FollowedSession(
                folder,
                self._id,
                self._mailbox,
                spawn=host.spawn,
                report=partial(_notify, host),
                ask_again=host.ask,
                runs=self._folder.runs,
            )
        await super().open(host)

    async def close(self) -> None:
        """End to keep the folder up to date."""
        await self._folder.close()

    async def follow(self, host: SessionHost, loader: SessionLoader) -> None:
        """Show the questions that wait, then what happens, as in a session of this program."""
        session = self.session
        if not isinstance(session, FollowedSession):
            await super().follow(host, loader)
            return
        host.status.follow(lambda: host.state)
        try:
            host.ask(await session.questions())
        except TeamError as error:
            _notify(host, str(error))
        unsubscribe = session.bus.subscribe(host.pump.receive)
        self.is_live.set()
        try:
            async for events in session.follow():
                for event in events:
                    # A question that was answered from here may be in the journal only now.
                    if not _is_answered(event, session):
                        session.bus.forward(event)
                self.show_stats(host)
        except JournalError as error:
            if not session.closed:
                host.notice.show(str(error), "what was read until then is shown")
            return
        finally:
            unsubscribe()
        if not session.closed:
            host.pump.flush()
            loader.end()
            self._end(host)

    def _end(self, host: SessionHost) -> None:
        """Let nothing be written any more."""
        self.followed = OVER
        self.show_stats(host)
        self.has_prompt = False
        host.frame.prompt.disabled = True
        host.frame.show("conversation")

    async def _wait_for_journal(self, folder: Path) -> None:
        """Wait until the session, which may have begun just now, has a journal here."""
        journal = folder / JOURNAL
        while not journal.exists() and self._folder.runs(folder):  # noqa: ASYNC110  # a file announces nothing
            await asyncio.sleep(POLL_SECONDS)


def _is_answered(event: Event, session: FollowedSession) -> bool:
    return isinstance(event, PermissionAsked | ElicitationAsked) and event.request_id in session.answered_here


def _notify(host: SessionHost, text: str) -> None:
    host.notify(text, timeout=10.0, markup=False)
