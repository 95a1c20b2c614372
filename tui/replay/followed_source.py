"""A session that runs elsewhere as the source of the screen: followed, answered and interrupted from here."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import JournalError, TeamError
from ua_tui.core.events.types import ElicitationAsked, PermissionAsked
from ua_tui.core.history.session import PastSession, runs_elsewhere
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.team.fleet.followed_session import FollowedSession
from ua_tui.core.text import clean_line
from ua_tui.tui.replay.past_source import RUNNING, UNCHANGED, PastSource

if TYPE_CHECKING:
    from ua_tui.core.team.mailbox import Mailbox
    from ua_tui.core.team.restore import SessionMirror
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.replay.loader import SessionLoader

POLL_SECONDS = 0.1
OVER = "The session has ended."


class FollowedSource(PastSource):
    """Shows a session from its journal, then what happens in it; with a mailbox, one can answer and write to it.

    Args:
        place: its folder on this machine, or what makes one and keeps it up to date.
        mailbox: brings answers and commands to it; None if nobody receives them.
        where: where it runs, for the person.
        owner: whose session it is; empty if it is the person's own.
    """

    is_of_list = False
    unread = RUNNING
    refusal = "This session is running in another program: make the change there."

    def __init__(
        self,
        place: Path | SessionMirror,
        mailbox: Mailbox | None,
        *,
        where: str = "",
        owner: str = "",
    ) -> None:
        super().__init__(None, from_list=True)
        self._place = place
        self._mailbox = mailbox
        self.owner = owner
        self.has_prompt = mailbox is not None
        whose = f"{clean_line(owner, 60)}'s" if owner else "the"
        self._about = f"Write to {whose} session{f' on {where}' if where else ''}"
        if mailbox is not None:
            self.followed = self.placeholder = self._about
            self.idle_actions = ("restart", *UNCHANGED)
        self.is_live = asyncio.Event()
        """Set when the questions of the session are shown, and what happens in it is followed."""

    async def open(self, host: UaTuiApp) -> None:
        """Get the folder of the session, then show it."""
        if self._mailbox is not None:
            key = host.keys.shown("session.stop")
            self.followed = self.placeholder = f"{self._about} · {key} stops it"
        host.early_state = "starting"
        host.status.hint = "loading the session…"
        try:
            folder = self._place if isinstance(self._place, Path) else await self._place.start()
            # It may have begun just now.
            while not (folder / JOURNAL).exists() and runs_elsewhere(folder):  # noqa: ASYNC110  # a file announces nothing
                await asyncio.sleep(POLL_SECONDS)
        except TeamError:
            host.early_state = "failed"
            raise
        finally:
            host.status.hint = ""
        if self._mailbox is None:
            self.session = PastSession(folder)
        else:
            self.session = FollowedSession(
                folder,
                self._mailbox,
                spawn=host.spawn,
                report=partial(_notify, host),
                report_answer=host.questions.report_answer,
                ask_again=host.questions.ask,
            )
        await super().open(host)

    async def interrupt(self) -> None:
        """Stop the query that runs, as soon as it is known whether one does."""
        if self.session is None or self.session.state == "starting":
            await self.is_live.wait()
        if isinstance(self.session, FollowedSession):
            await self.session.interrupt()

    async def close(self) -> None:
        """End to keep the folder up to date."""
        if not isinstance(self._place, Path):
            await self._place.close()

    async def follow(self, host: UaTuiApp, loader: SessionLoader) -> None:
        """Show the questions that wait, then what happens, as in a session of this program."""
        session = self.session
        if not isinstance(session, FollowedSession):
            await super().follow(host, loader)
            return
        host.status.follow(lambda: host.state)
        try:
            host.questions.ask(await session.questions())
        except TeamError as error:
            _notify(host, error.advice.sentence)
        unsubscribe = session.bus.subscribe(host.pump.receive)
        self.is_live.set()
        try:
            async for events in session.follow():
                for event in events:
                    # A question that was answered from here may be in the journal only now.
                    if (
                        not isinstance(event, PermissionAsked | ElicitationAsked)
                        or event.request_id not in session.answered_here
                    ):
                        session.bus.forward(event)
                self.show_stats(host)
        except JournalError as error:
            if not session.closed:
                host.notice.show(error.advice.sentence, "what had been read by then is shown")
            return
        finally:
            unsubscribe()
        if not session.closed:
            host.pump.flush()
            loader.end()
            self._end(host)

    def _end(self, host: UaTuiApp) -> None:
        """Let nothing be written any more."""
        self.followed = OVER
        self.show_stats(host)
        self.has_prompt = False
        host.frame.prompt.disabled = True
        host.frame.show("conversation")


def _notify(host: UaTuiApp, text: str) -> None:
    host.notify(text, timeout=10.0)
