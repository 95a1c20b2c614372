"""One job as a session: it is begun, or resumed where an earlier worker was lost, and runs without a screen.

Start at `JobRun.work`. Several jobs run in one event loop; each is run in a task of its own.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ua_tui.core.agent.ledger import LedgerRefusal
from ua_tui.core.concurrency.garbage_collection import deferred
from ua_tui.core.errors import (
    ConversationGone,
    CredentialsError,
    JournalError,
    SettingsError,
    TeamError,
    UniversalAgentError,
    WorkspaceError,
)
from ua_tui.core.events.continuation import is_own, resumption
from ua_tui.core.events.types import Event
from ua_tui.core.events.units import duration
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import is_temporary
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.parts import SessionState
from ua_tui.core.session.resume import Resume, prepare_resume
from ua_tui.core.session.session import Session
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import SPECS, Settings, secrets
from ua_tui.core.storage.ownership import check_session
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.tasks import pause, until
from ua_tui.core.team.actions import FolderActions, SessionActions
from ua_tui.core.team.jobs.batch_file import checked_settings
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.mailbox import Mailbox, PostgresMailbox
from ua_tui.core.team.progress import JobProgress, read_progress
from ua_tui.core.team.records import JobClaim, Outcome, SessionId
from ua_tui.core.team.restore import restored_workspace
from ua_tui.core.text import clean_line
from ua_tui.tui.team.question_relay import QuestionRelay


def settings_for_job(
    settings: Settings, given: Mapping[str, Any], limit_usd: float | None, *, of_team: bool = False
) -> tuple[Settings, bool]:
    """The settings of a job's session, and whether a person may be asked.

    They are checked again: whoever may write to the database may have written them. A job `of_team` may be anybody's:
    it does not end the plan mode of a worker.

    Raises:
        SettingsError: the job sets something that it may not, or a wrong value.
        CredentialsError: no way to reach a model is configured.
    """
    wanted = checked_settings(given)
    asks = wanted.pop("ask", False) is True
    loaded = load_settings({**settings.options, **wanted}, by_name=True)
    changes: dict[str, Any] = {"options": loaded.options} | {
        name: tuple(dict.fromkeys((*getattr(settings, name), *getattr(loaded, name))))
        if SPECS[name].adds_up
        else getattr(loaded, name)
        for name in wanted
    }
    if of_team and settings.permission_mode == "plan":
        changes["permission_mode"] = "plan"
    limits = [each for each in (limit_usd, changes.get("max_cost_usd")) if each is not None]
    if limits:
        changes["max_cost_usd"] = min(limits)
    merged = replace(settings, **changes)
    if not merged.has_credentials():
        raise CredentialsError
    return merged, asks


JOB_SECONDS, QUESTION_SECONDS = 2 * 3600.0, 12 * 3600.0
"""After so long at work, or waiting for an answer, a job of a team gives its place back until a person decides."""
PARKING_SECONDS = 300.0
"""So long the actions of such a job that run have to end before: one that is cut has an unknown outcome."""
Note = Callable[[SessionId, Literal["running", "needs_you"], float | None, str], Awaitable[bool]]
"""Records how far a job is: its state, its cost in US dollars, and the folder of its session."""
CLOSE_SECONDS = 5.0
"""How long a session that another worker may have by now has for its end."""
_closing: set[asyncio.Task[None]] = set()


@dataclass
class JobRun:
    """One attempt at a job, which `work` runs to its end.

    Args:
        claim: the job; an attempt above 1 resumes its session.
        stop: ends the session at once, as when the job is another worker's; or soon: no further action begins, and it
            ends when those that run have ended. Both are also set here, when the job is found to be lost or overdue.
        settings: those of the worker.
        note: records what the job costs, and whether it waits for somebody; returns False if it is another worker's.
        address: the team's database, to which the session is copied, and where people are asked and commands come from;
            None for the jobs of this machine, of which the folder of the session has that.
    """

    claim: JobClaim
    stop: JobStop
    _: KW_ONLY
    settings: Settings
    note: Note
    address: Address | None
    ledger: SessionActions = field(init=False)
    left: str = field(default="", init=False)
    parked: str = field(default="", init=False)
    _progress: JobProgress = field(default_factory=JobProgress, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _unknown: tuple[str, ...] = field(default=(), init=False)
    _noted: tuple[str, float | None, str] | None = field(default=None, init=False)
    _unseen_usd: float = field(default=0.0, init=False)
    _folder: str = field(default="", init=False)
    _held: Workspace | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        session = self.claim.session
        self.ledger = (
            FolderActions(session, on_superseded=self._handle_superseded)
            if self.address is None
            else SessionActions(self.address, session, on_superseded=self._handle_superseded)
        )
        self._relay = QuestionRelay(self._changed.set)

    async def work(self) -> Outcome:
        """Run the job to its end; nothing runs if an earlier attempt was answered and only its end was not recorded.

        One that was lost or left is `waiting`: whoever resumes it records its end.
        """
        outcome = await until(self.run(), until(self._leave(), self.stop.wait()))
        if outcome is not None:
            return outcome
        if self.parked and not self.stop.is_set():
            return self.outcome("parked", self.parked)
        return Outcome(state="waiting", error=self.left)

    async def _leave(self) -> None:
        """Once the job is to end soon let nothing more begin, and wait for the actions that run.

        What people answer then is for the next attempt.
        """
        await self.stop.soon.wait()
        self._relay.is_leaving = True
        with suppress(TimeoutError):
            async with asyncio.timeout(PARKING_SECONDS if self.parked else None):
                await self.ledger.leave()

    async def run(self) -> Outcome:
        """Run the job; every failure is an outcome."""
        try:
            return await self._run()
        except (UniversalAgentError, OSError) as error:
            return self._failed(str(error) or type(error).__name__)
        except Exception as error:
            log.exception("the job %s failed", self.claim.job.id)
            return self._failed(f"{type(error).__name__}: {error}")
        finally:
            self._release()

    def _handle_superseded(self, why: str) -> None:
        self.left = why
        self.stop.set()

    def _failed(self, why: str) -> Outcome:
        redactor = Redactor(secrets(self.settings, os.environ))
        return self.outcome("failed", clean_line(redactor.redact(why), 500))

    def outcome(
        self,
        state: Literal["done", "failed", "cancelled", "parked", "put_off"],
        error: str = "",
    ) -> Outcome:
        """How the job ended, or goes on."""
        ended = self._progress.ended
        answer = ended.text.strip() if ended is not None and state in ("done", "cancelled") else ""
        if state == "done" and self._progress.links:
            # A link is a key to an account: it is not passed on.
            names = clean_line(", ".join(self._progress.links), 200)
            answer += f"\n\nNot connected: {names}. Connect it in a session of your own."
        return Outcome(
            state=state,
            answer=answer,
            error=error,
            cost_usd=self._cost_usd,
            folder=self._folder,
            tokens=self._progress.view.costs.tokens.total or None,
            model=self._progress.model,
            files=self._progress.files,
            unknown=self._unknown,
        )

    @property
    def _cost_usd(self) -> float | None:
        """What the job has cost, with what its journal lacks; None if that is not known."""
        total = self._progress.view.costs.total
        return total if total is None else total + self._unseen_usd

    async def _run(self) -> Outcome:
        job = self.claim.job
        settings, asks = await asyncio.to_thread(
            settings_for_job,
            self.settings,
            job.settings,
            self.claim.limit_usd,
            of_team=self.address is not None,
        )
        if self.address is not None:
            knowledge, owner = settings.knowledge, self.claim.session.owner
            if isinstance(knowledge, Address) and owner is not None:
                # What is private is seen by workers, but not by the jobs of others.
                knowledge = knowledge.reading_for(owner)
            settings = replace(settings, team=self.address.url, knowledge=knowledge)
        folder = await self._earlier_folder(settings)
        self._unseen_usd = max(0.0, self.claim.spent_usd - (self._cost_usd or 0.0))
        if settings.max_cost_usd is not None:
            settings = replace(settings, max_cost_usd=settings.max_cost_usd - self._unseen_usd)
        if isinstance(self.ledger, FolderActions) and self.claim.folder:
            await self.ledger.open(Path(self.claim.folder))
            self._unknown = tuple(dict.fromkeys(await self._earlier_tools("running")))
        if self._progress.succeeded:
            return self.outcome("done")
        text, resume = self.claim.job.query, None
        if folder is not None:
            await self._hold(folder, settings.workspace_base)
            named = {*job.settings, "max_cost_usd"}
            settings, resume = await asyncio.to_thread(
                prepare_resume, settings, folder, named=named, workspace=self._held
            )
            if self._progress.view.setup.spoken:
                text = resumption(await self._earlier_tools("running"))
        try:
            session = await self._compose(settings, asks, resume)
        except ConversationGone as gone:
            if resume is None:
                raise
            log.warning("%s: a new conversation begins", gone)
            text = await self._query_with_note()
            await self._hold(resume.folder, settings.workspace_base)
            fresh = Resume(resume.folder, fresh=True, named=resume.named, workspace=self._held)
            session = await self._compose(settings, asks, fresh)
        # The session unlocks it.
        self._held = None
        self._folder = str(session.workspace.path)
        if isinstance(self.ledger, FolderActions):
            await self.ledger.open(session.workspace.path)
        return await self._run_session(session, text)

    async def _compose(self, settings: Settings, interactive: bool, resume: Resume | None) -> Session:
        from ua_tui.tui.compose import compose_session

        of_team = self.address is not None
        subscribers: list[Callable[[Event], None]] = [self._progress.handle_event]
        if interactive:
            subscribers.append(self._relay.handle_event)
        return await compose_session(
            settings,
            interactive=interactive,
            subscribers=subscribers,
            resume=resume,
            ledger=self.ledger,
            team=self.claim.session if of_team else None,
            team_address=self.address,
            files_elsewhere=self.settings.allow if of_team else None,
        )

    # -- an earlier attempt -----------------------------------------------------------------------

    async def _earlier_folder(self, settings: Settings) -> Path | None:
        """The folder of the earlier attempt, and how far it came; None if there was none that began a session."""
        if self.claim.session.attempt == 1:
            return None
        folder = await self._restored(settings.workspace_base)
        if folder is None:
            return None
        # Its answer is that of the job.
        await asyncio.to_thread(check_session, folder)
        try:
            progress = await asyncio.to_thread(read_progress, folder)
        except JournalError as error:
            log.info("the job begins again: %s", error)
            progress = JobProgress()
        if progress.view.started is None:
            self._release()
            return None
        self._progress, self._folder = progress, str(folder)
        return folder

    async def _restored(self, base: Path) -> Path | None:
        if self.address is None:
            folder = Path(self.claim.folder) if self.claim.folder else None
            return folder if folder is not None and await asyncio.to_thread(folder.is_dir) else None
        while True:
            try:
                self._held = await restored_workspace(self.address, self.claim.session.id, base)
                return self._held.path
            except TeamError as error:
                if error.__cause__ is None:
                    # Its worker was lost before there was anything to copy.
                    log.info("the job begins again: %s", error)
                    return None
                if not is_temporary(error):
                    raise
                log.warning("the session is not restored yet: %s", error)
            # Without the database for long, the job is lost.
            await pause(1.0)

    async def _hold(self, folder: Path, base: Path) -> None:
        """Lock the folder until the session does; first wait for the worker that had it, if it runs on this machine."""
        until_ = time.monotonic() + 10.0
        while (self._held is None or not self._held.locked) and time.monotonic() < until_:
            if not await asyncio.to_thread(runs_elsewhere, folder):
                with suppress(WorkspaceError):
                    # Not in a thread, which would go on when this is cancelled.
                    self._held = Workspace.resume(folder, base=base)
                    return
            await pause(0.2)

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    async def _earlier_tools(self, *states: str) -> list[str]:
        """The tools of the actions of earlier attempts that are in one of these states."""
        try:
            actions = await self.ledger.earlier()
        except LedgerRefusal as error:
            # What may not run again is denied in any case.
            log.warning("the earlier actions cannot be read: %s", error.__cause__)
            return []
        return [each.tool for each in actions if each.state in states]

    async def _query_with_note(self) -> str:
        """The query for a new conversation, with what ran in the one that is gone."""
        ran = "These calls ran before the conversation was lost, and do not run again with the same arguments"
        unknown = "It is not known whether these succeeded"
        parts = [self.claim.job.query]
        for words, states in ((ran, ("done", "failed")), (unknown, ("running",))):
            tools = [clean_line(each, 200) for each in await self._earlier_tools(*states)]
            if tools:
                parts.append(f"{words}: {', '.join(dict.fromkeys(tools))}.")
        return "\n\n".join(parts)

    # -- the session ------------------------------------------------------------------------------

    async def _run_session(self, session: Session, text: str) -> Outcome:
        tasks: list[asyncio.Task[None]] = []
        reason = "interrupted"
        try:
            await self._note()
            tasks.append(asyncio.create_task(self._keep_noting()))
            # The first session of a process imports what all of them need.
            with deferred() if not gc.get_freeze_count() else nullcontext():
                await session.start()
            if session.state is SessionState.FAILED:
                reason = "finished"
                return self._failed(self._progress.failure or "the agent could not be started")
            mailbox: Mailbox = (
                LocalMailbox(session.workspace.path)
                if self.address is None
                else PostgresMailbox(self.address, self.claim.session)
            )
            tasks.append(asyncio.create_task(self._relay.run(session, mailbox)))
            outcome = await self._ask(session, text)
            reason = "finished"
            return outcome
        finally:
            for task in tasks:
                task.cancel()
            # A statement that a silent network swallows is cancelled only after seconds: the session does not wait.
            await self._close(session, reason)
            if tasks:
                await asyncio.wait(tasks, timeout=2.5)

    async def _ask(self, session: Session, text: str) -> Outcome:
        from ua_tui.tui.widgets.command import problem_of_query

        if problem := problem_of_query(session, text):
            raise SettingsError(problem)
        waiting = session.queued
        session.queue.change(
            waiting, [each for each in waiting if each != self.claim.job.query and not is_own(each)]
        )
        session.submit(text)
        await session.wait_idle()
        if session.queue_paused and self._progress.succeeded:
            # What people sent to the worker that was lost.
            session.resume_queue()
        while session.queued and not session.queue_paused:
            # Also what somebody sends at the last moment.
            await session.wait_idle()
        if session.auth.pending is not None:
            session.finish_auth("unattended")
        ended = self._progress.ended
        if ended is not None and ended.status == "success":
            return self.outcome("done")
        if self._relay.stopped_by is not None and (ended is None or ended.status == "interrupted"):
            return self.outcome("cancelled", f"{self._relay.stopped_by} stopped it")
        if self._progress.limited:
            why = (ended and ended.error) or "the provider refuses requests"
            return self.outcome("put_off", why)
        if ended is None or not ended.error:
            spent = "the session has reached its spending limit"
            return self._failed(spent if self._progress.refused else "the query did not finish")
        return self._failed(ended.error)

    async def _close(self, session: Session, reason: str) -> None:
        """Close the session; one that is another worker's by now is not waited for long."""
        closing = asyncio.create_task(session.close(reason))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        with suppress(TimeoutError):
            async with asyncio.timeout(None if reason == "finished" else CLOSE_SECONDS):
                await asyncio.shield(closing)

    # -- what the store knows ---------------------------------------------------------------------

    async def _keep_noting(self) -> None:
        """Record the state when it changes, and the cost every two seconds; give the place back after a long time."""
        began, asked = time.monotonic(), 0.0
        while True:
            await pause(2.0, self._changed)
            self._changed.clear()
            await self._note()
            now = time.monotonic()
            if not self._relay.needs_you:
                # Waiting for a person is no work.
                began, asked = began + (now - asked if asked else 0.0), 0.0
            elif not asked:
                asked = now
            if self.address is not None and (why := _overdue(now - (asked or now), (asked or now) - began)):
                self._relay.keeps_questions = True
                self.parked = why
                self.stop.soon.set()

    async def _note(self) -> None:
        state: Literal["running", "needs_you"] = "needs_you" if self._relay.needs_you else "running"
        now = (state, self._cost_usd, self._folder)
        if now == self._noted:
            return
        try:
            if not await self.note(self.claim.session, state, now[1], now[2]):
                self.stop.set()
        except TeamError as error:
            log.warning("the state of the job is not recorded yet: %s", error)
            return
        self._noted = now


def _overdue(waited: float, worked: float) -> str:
    """Why a job gives its place back; empty if it does not."""
    if waited > QUESTION_SECONDS:
        return (
            f"no one answered its question for {duration(QUESTION_SECONDS)}: answer it, and the job continues"
        )
    if worked > JOB_SECONDS:
        return f"it has been running for {duration(JOB_SECONDS)}: `ua-tui team retry` continues it, `cancel` ends it"
    return ""
