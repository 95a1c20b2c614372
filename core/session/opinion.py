"""A second opinion from the session's small model on the check of a report: its price, the answer, and its cost."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ua_tui.core.agent.auth.login_request import LoginRequests
from ua_tui.core.agent.environment import PrivateFolder
from ua_tui.core.agent.messages.usage import usage_of
from ua_tui.core.bus import Bus
from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.opinion import PROMPT, Opinions, Question, questions_about, read_reply
from ua_tui.core.claims.records import Claim
from ua_tui.core.errors import (
    ConnectionFailed,
    CredentialsError,
    SettingsError,
    UniversalAgentError,
    WorkspaceError,
)
from ua_tui.core.events.types import Event, OpinionGiven, Usage
from ua_tui.core.events.units import money, quantity, spent_of
from ua_tui.core.records.journal import Journal
from ua_tui.core.redaction.masking import mask_event
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.resume import PreviousState, read_previous_state
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.parsers import unpriced_error
from ua_tui.core.storage.ownership import check_session
from ua_tui.core.storage.workspace import JOURNAL, Workspace
from ua_tui.core.text import clean_line

_PATIENCE = 180.0
"""Seconds for one request."""


class OpinionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers and who pays for a second opinion.

    `left_usd` is what it may cost, None for no limit. The opinions are stored in `workspace`, and `publish` records
    what was spent; without a session there is neither.
    """

    settings: Settings
    redactor: Redactor
    left_usd: float | None = None
    workspace: Workspace | None = None
    publish: Callable[[Event], object] = lambda _event: None


async def ask_opinion(
    terms: AbstractAsyncContextManager[OpinionTerms],
    report: CheckedReport,
    agrees: Callable[[str], Awaitable[bool]],
) -> Ledger | None:
    """Ask for a second opinion on a report whose secrets are masked, if a person `agrees` to the price; None if not.

    What the model said is stored, also if a later request fails, and what it cost is recorded.

    Raises:
        UniversalAgentError: nobody can be asked, a limit would be passed, there was no answer, or it cannot be stored.
    """
    async with terms as known, _small_model(known.settings) as model:
        folder = known.workspace.path if known.workspace is not None else None
        ledger = await asyncio.to_thread(Ledger(folder, report.report).read)
        if ledger.notice:
            raise WorkspaceError(ledger.notice)
        questions = questions_about(report.claims, known.redactor)
        if not questions:
            raise SettingsError(
                f"no claim in {clean_line(report.report, 300)} has a passage to compare it with"
            )
        price = model.prices.cost_of(model.model, sum((each.usage for each in questions), Usage()))
        if known.left_usd is not None:
            if price is None:
                raise unpriced_error(model.model)
            if price > known.left_usd:
                said, rest = spent_of(price, known.left_usd)
                raise SettingsError(
                    f"a second opinion may cost {said}, but only {rest} of the spending limit is left: raise the "
                    "setting max_cost_usd, or the limit of the session with /budget"
                )
        claims = quantity(sum(len(each.passages) for each in questions), "claim")
        cost = "an unknown amount" if price is None else f"about {money(price)}"
        if not await agrees(
            f"Ask {clean_line(model.model, 100)} about {claims} in {quantity(len(questions), 'request')}, for {cost}?"
        ):
            return None
        found = Opinions(at=datetime.now(UTC), model=model.model, cost_usd=0.0)
        try:
            why = await _ask(model, questions, report.claims, known.left_usd, found)
            if why and not found.requests:
                raise ConnectionFailed(f"the model gave no second opinion: {why}")
            found.notice = f"Not all claims have a second opinion: {why}." if why else ""
            await asyncio.to_thread(ledger.add, found, known.redactor)
        finally:
            # Also what was cancelled, or cannot be stored, has its price.
            if found.requests:
                counts = Counter(str(each.verdict) for each in found.opinions)
                known.publish(
                    OpinionGiven(
                        report=report.report, model=found.model, counts=dict(counts),
                        requests=found.requests, usage=found.usage, cost_usd=found.cost_usd,
                    )
                )  # fmt: skip
        return ledger


async def _ask(
    model: LoginRequests,
    questions: Sequence[Question],
    claims: Sequence[Claim],
    left: float | None,
    found: Opinions,
) -> str:
    """Send the requests and collect what comes back in `found`; returns why not all were answered."""
    for number, question in enumerate(questions):
        # Each may cost as much as those before it did on average.
        spent = found.cost_usd
        if left is not None and number and (spent is None or spent * (1 + 1 / number) > left):
            return "the spending limit would be exceeded"
        try:
            reply = await asyncio.wait_for(model.ask(PROMPT, question.text), _PATIENCE)
        except (UniversalAgentError, TimeoutError) as error:
            return clean_line(str(error), 300) or f"there was no answer within {_PATIENCE:g} s"
        found.model = clean_line(reply.model, 200) or found.model
        found.requests += 1
        found.usage += usage_of(reply.usage) or Usage()
        if found.cost_usd is not None:
            found.cost_usd = None if reply.cost_usd is None else found.cost_usd + reply.cost_usd
        found.opinions += tuple(read_reply(question, claims, reply.text))
    return ""


@asynccontextmanager
async def _small_model(settings: Settings) -> AsyncIterator[LoginRequests]:
    """The model of small requests, with its price."""
    if not settings.has_credentials():
        raise CredentialsError
    has_key = bool(settings.api_key or settings.auth_token or settings.base_url or settings.cloud)
    async with AsyncExitStack() as stack:
        private = await asyncio.to_thread(PrivateFolder)
        stack.push_async_callback(asyncio.to_thread, private.remove)
        # Only the user's own folder has a login.
        home = private.path if has_key else None
        model = settings.simple_model or (settings.model if has_key else None)
        requests = LoginRequests(settings, private.path, os.environ, home=home, model=model)
        stack.push_async_callback(requests.close)
        await requests.read_price_list()
        yield requests


@asynccontextmanager
async def terms_of_past_session(
    folder: Path, settings: Settings, redactor: Redactor
) -> AsyncIterator[OpinionTerms]:
    """The terms of a session that no program runs, as if it were resumed: its models, its limit, its journal.

    Raises:
        SettingsError: it is somebody else's.
        WorkspaceError: another program runs it.
        JournalError: its journal cannot be read.
        DemoError: the demo's servers do not start.
    """
    await asyncio.to_thread(check_session, folder)
    async with AsyncExitStack() as stack:
        workspace = await asyncio.to_thread(Workspace.claim, folder, redactor)
        stack.callback(workspace.close)
        previous = await asyncio.to_thread(read_previous_state, workspace)
        settings = replace(previous.overrides.apply(settings, ()).settings, demo=False)
        limit, spent = settings.max_cost_usd, previous.view.costs.total or 0.0
        started = previous.view.started
        if started is not None and started.demo:
            from ua_tui.core.demo.launch import demo_servers, demo_settings

            settings = demo_settings(settings, await stack.enter_async_context(demo_servers(0)))
        yield OpinionTerms(
            settings=settings,
            redactor=redactor,
            left_usd=None if limit is None else max(0.0, limit - spent),
            workspace=workspace,
            publish=lambda event: _append(workspace, previous, event),
        )


def _append(workspace: Workspace, previous: PreviousState, event: Event) -> None:
    """Append an event to the journal of a session that is over; its end is then written again, with its new sums."""
    with closing(Journal(workspace.path / JOURNAL, workspace.redactor)) as journal:
        bus = Bus(previous.view.seq, mask=lambda each: mask_event(each, workspace.redactor))
        bus.subscribe(journal.append)
        end, costs = previous.view.finished, previous.view.costs.after(bus.publish(event))
        if end is not None:
            cost = None if costs.unpriced else costs.spent
            bus.publish(msgspec.structs.replace(end, cost_usd=cost, unpriced=list(costs.unpriced)))
