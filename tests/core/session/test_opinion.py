from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.core.claims.test_opinion import claim
from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.agent.auth.login_request import LoginRequests
from ua_tui.core.agent.messages.usage import Prices
from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import ReportCheck, ledger_path
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.opinion import Opinions
from ua_tui.core.claims.records import Check, Claim
from ua_tui.core.errors import ConnectionFailed, CredentialsError, SettingsError, WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.history.headline import read_heading
from ua_tui.core.provider.request import SmallReply
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.opinion import OpinionTerms, ask_opinion, terms_of_past_session
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.parsers import ModelPrice
from ua_tui.core.storage.workspace import Workspace

REPORT = "work_products/brief.md"
SETTINGS = Settings(api_key="k", simple_model="small", model="large")
PRICE = ModelPrice(1e-6, 5e-6, 1e-6, 1e-6)
USED = {"input_tokens": 1_000, "output_tokens": 100}


class FakeModel:
    """Answers every request for an opinion, or fails from request `fails_at` on; costs a cent each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, price: ModelPrice | None = PRICE) -> None:
        self.asked: list[str] = []
        self.models: list[str] = []
        self.fails_at = 1 << 30
        self.cost: float | None = 0.01
        self.words = "nine percent"
        monkeypatch.setattr(LoginRequests, "read_price_list", lambda this: self._list(this, price))
        monkeypatch.setattr(LoginRequests, "ask", lambda this, system, text: self._ask(text))

    async def _list(self, requests: LoginRequests, price: ModelPrice | None) -> None:
        self.models.append(requests.model)
        requests.prices = Prices({} if price is None else {requests.model: price})

    async def _ask(self, text: str) -> SmallReply:
        if len(self.asked) >= self.fails_at:
            raise ConnectionFailed("it is overloaded")
        self.asked.append(text)
        claims = json.loads(text.removeprefix("<data>").removesuffix("</data>"))["claims"]
        found = [{"id": each["id"], "opinion": "agrees", "words": self.words} for each in claims]
        return SmallReply(json.dumps({"opinions": found}), self.cost, "small-1", USED)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    return FakeModel(monkeypatch)


def report_of(*claims: Claim) -> CheckedReport:
    made = ReportCheck(report=REPORT, sha256="0", check=Check(claims=claims or (claim(),)))
    return CheckedReport.of(made, Ledger(None, REPORT))


MANY = report_of(*[claim()] * 90)


async def ask(
    terms: OpinionTerms, report: CheckedReport, *, agreed: bool = True, questions: list[str] | None = None
) -> Opinions | None:
    """What the model says, if the person agreed; their question is added to `questions`."""

    async def agrees(question: str) -> bool:
        if questions is not None:
            questions.append(question)
        return agreed

    ledger = await ask_opinion(nullcontext(terms), report, agrees)
    return ledger.opinions if ledger is not None else None


def terms(**more: Any) -> OpinionTerms:
    return OpinionTerms(settings=more.pop("settings", SETTINGS), redactor=Redactor(), **more)


async def test_the_price_is_known_before_and_nothing_is_asked_without_a_yes(model: FakeModel) -> None:
    questions: list[str] = []
    assert await ask(terms(), MANY, agreed=False, questions=questions) is None
    assert questions[0].startswith("Ask small about 90 claims in 3 requests, for about $0.0")
    assert model.asked == []
    found = await ask(terms(), MANY)
    assert found is not None
    assert len(model.asked) == found.requests == 3
    assert found.cost_usd == pytest.approx(0.03)
    assert found.usage.total == 3_300
    assert len(found.opinions) == 90


@pytest.mark.parametrize(("settings", "expected"), [
    (Settings(api_key="k", simple_model="small", model="large"), "small"),
    (Settings(api_key="k", model="large"), "large"),
    (Settings(base_url="http://127.0.0.1:1", model="llama"), "llama"),
    (Settings(api_key="k"), "haiku"),
])  # fmt: skip
async def test_the_model_is_that_of_small_requests(
    model: FakeModel, settings: Settings, expected: str
) -> None:
    await ask(terms(settings=settings), report_of())
    assert model.models == [expected]


@pytest.mark.parametrize(("price", "more", "claims", "problem"), [
    (PRICE, {"settings": Settings()}, 1, "No API key|credential|login"),
    (PRICE, {}, 0, "no claim in "),
    (PRICE, {"left_usd": 0.0}, 1, r"may cost \$0\.00\d\d, but only \$0\.0000 of the spending limit is left"),
    (None, {"left_usd": 0.0}, 1, "a spending limit needs the price of small"),
])  # fmt: skip
async def test_what_cannot_be_asked_or_paid_is_refused(
    monkeypatch: pytest.MonkeyPatch, price: ModelPrice | None, more: dict[str, Any], claims: int, problem: str
) -> None:
    model = FakeModel(monkeypatch, price=price)
    with pytest.raises((CredentialsError, SettingsError), match=problem):
        await ask(terms(**more), report_of() if claims else report_of(claim(kind="link")))
    assert model.asked == []


async def test_what_was_answered_is_kept_when_the_limit_comes_or_a_request_fails(model: FakeModel) -> None:
    events: list[ev.Event] = []
    model.cost = 0.5
    found = await ask(terms(left_usd=0.6, publish=events.append), MANY)
    assert found is not None
    assert (found.requests, len(found.opinions)) == (1, 40)
    assert "the spending limit would be exceeded" in found.notice
    model.fails_at = 3
    found = await ask(terms(publish=events.append), MANY)
    assert found is not None
    assert "it is overloaded" in found.notice
    with pytest.raises(ConnectionFailed, match="no second opinion: it is overloaded"):
        await ask(terms(publish=events.append), MANY)
    assert [each.cost_usd for each in events if isinstance(each, ev.OpinionGiven)] == [0.5, 1.0]


def spent(folder: Path) -> list[float | None]:
    """What a session cost by its list, its statistics and its journal."""
    stats, events = SessionStats(read=1.0), list(read_events(folder))
    stats.add(events)
    return [read_heading(folder).cost, stats.cost, stats._costs.spent]


async def test_a_past_session_pays_and_has_the_opinions(tmp_path: Path, model: FakeModel) -> None:
    session = Recorded(tmp_path)
    usage = ev.Usage(input_tokens=10)
    session.add(ev.QueryFinished(query_id="q1", status="success", cost_usd=0.2, usage=usage))
    session.add(ev.SessionFinished(reason="finished", cost_usd=0.2, queries=1, duration_ms=5.0))
    folder = session.folder
    async with terms_of_past_session(folder, SETTINGS, Redactor()) as known:
        assert known.left_usd is None
        await ask(known, report_of())
    given, end = list(read_events(folder))[-2:]
    assert isinstance(given, ev.OpinionGiven)
    assert (given.report, given.model, given.counts) == (REPORT, "small-1", {"agrees": 1})
    assert isinstance(end, ev.SessionFinished)
    assert (end.queries, end.duration_ms, end.seq) == (1, 5.0, given.seq + 1)
    assert spent(folder) == [pytest.approx(0.21)] * 3
    assert Ledger(folder, REPORT).read().opinions is not None
    # What was chosen in the session counts, and what was spent.
    session.seq = end.seq
    session.add(ev.BudgetRaised(spent_usd=0.21, limit_usd=0.22), ev.ModelChosen(model="other"))
    async with terms_of_past_session(folder, Settings(api_key="k"), Redactor()) as known:
        assert known.left_usd == pytest.approx(0.01)
        assert known.settings.model == "other"
        with pytest.raises(SettingsError, match="of the spending limit is left"):
            await ask(known, MANY)
    # What somebody else said is not replaced, and nothing is paid for it.
    path = folder / ledger_path(REPORT)
    path.write_text(path.read_text().replace("agrees", "contradicts"))
    asked = len(model.asked)
    async with terms_of_past_session(folder, SETTINGS, Redactor()) as known:
        with pytest.raises(WorkspaceError, match="do not count"):
            await ask(known, report_of())
    assert len(model.asked) == asked


async def test_a_running_session_and_that_of_others_do_not_pay(tmp_path: Path, model: FakeModel) -> None:
    session = Recorded(tmp_path)
    running = Workspace.claim(session.folder)
    try:
        with pytest.raises(WorkspaceError, match="in use by another program"):
            async with terms_of_past_session(session.folder, SETTINGS, Redactor()):
                pass
    finally:
        running.close()
    (session.folder / ".owner").write_text("planted")
    before = (session.folder / "journal.jsonl").read_bytes()
    with pytest.raises(SettingsError, match="not made by this program"):
        async with terms_of_past_session(session.folder, SETTINGS, Redactor()):
            pass
    assert (session.folder / "journal.jsonl").read_bytes() == before
