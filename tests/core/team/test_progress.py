from __future__ import annotations

from pathlib import Path

import pytest

from ua_tui.core.errors import JournalError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.continuation import AUTH_COMPLETE, RESUMED, is_own, occasion_of, resumption
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.team.progress import JobProgress, read_progress


def started(conversation: str = "c1") -> ev.SessionStarted:
    return ev.SessionStarted(
        session_id="s", workspace="/w", cwd="/", version="1", provider_session_id=conversation
    )


def spent(cost: float | None) -> ev.TokensSpent:
    return ev.TokensSpent(query_id="q1", message_id="m1", model="m", usage=ev.Usage(), cost_usd=cost)


def ended(status: str, cost: float | None) -> ev.QueryFinished:
    return ev.QueryFinished(query_id="q1", status=status, duration_ms=1, cost_usd=cost)  # type: ignore[arg-type]


ASKED = ev.QueryReceived(query_id="q1", text="go")
SAID = ev.MessageFinished(query_id="q1", message_id="m", text="Hello")


def progress_of(*events: ev.Event) -> JobProgress:
    progress = JobProgress()
    for event in events:
        progress.handle_event(event)
    return progress


def test_the_cost_is_that_of_all_attempts_with_an_estimate_for_what_runs() -> None:
    assert progress_of(started(), ASKED).view.costs.total is None
    assert progress_of(started(), ASKED, spent(0.25), spent(None)).view.costs.total == 0.25
    # What the agent counted replaces the estimate; where it counted nothing the estimate stays.
    assert progress_of(ASKED, spent(0.25), ended("success", 0.5)).view.costs.total == 0.5
    assert progress_of(ASKED, spent(0.25), ended("interrupted", None)).view.costs.total == 0.25
    cut_off = (started(), ASKED, spent(0.25))
    assert (
        progress_of(*cut_off, ended("interrupted", 0.25), started(), ASKED, spent(0.5)).view.costs.total
        == 0.75
    )


def test_a_job_is_over_only_if_its_last_query_was_answered() -> None:
    assert progress_of(started(), ASKED, ended("success", 1)).succeeded
    assert not progress_of(started(), ASKED).succeeded
    assert not progress_of(started(), ASKED, ended("success", 1), ASKED).succeeded
    for status in ("error", "interrupted"):
        assert not progress_of(started(), ASKED, ended(status, 1)).succeeded


def test_a_new_conversation_has_heard_nothing_yet() -> None:
    assert not progress_of(started(), ASKED).view.setup.spoken
    assert progress_of(started(), ASKED, SAID).view.setup.spoken
    assert progress_of(started(), ASKED, SAID, started()).view.setup.spoken
    assert not progress_of(started(), ASKED, SAID, started("c2")).view.setup.spoken
    assert not progress_of(
        started(), ASKED, SAID, ev.ConversationCleared(query_id="q1", provider_session_id="c3")
    ).view.setup.spoken


def test_accounts_that_somebody_has_to_connect_are_known() -> None:
    link = ev.AuthRequired(toolkit="gmail", url="https://example.com/x")
    assert list(progress_of(link, link, ev.AuthFinished(toolkit="gmail", outcome="unattended")).links) == [
        "gmail"
    ]
    assert not progress_of(link, ev.AuthFinished(toolkit="gmail", outcome="completed")).links


def test_a_journal_is_read_and_earlier_failures_do_not_count(tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        read_progress(tmp_path)
    refused = ev.BudgetReached(level="spent", spent_usd=1, limit_usd=1, refused=True)
    failed = ev.ErrorRaised(where="agent", message="gone")
    assert progress_of(refused).refused
    assert progress_of(failed).failure == "gone"
    lines = [encode_event(each) for each in (started(), ASKED, SAID, spent(0.5), failed, refused)]
    # The last line was cut off with the program.
    (tmp_path / JOURNAL).write_bytes(b"\n".join([*lines, b'{"event":"query_fin']))
    progress = read_progress(tmp_path)
    assert (progress.view.started is not None, progress.view.setup.spoken, progress.succeeded) == (
        True,
        True,
        False,
    )
    assert (progress.view.costs.total, progress.failure, progress.refused) == (0.5, "", False)


def test_the_message_of_a_resumption_is_the_programs_own() -> None:
    assert is_own(AUTH_COMPLETE)
    assert is_own(resumption([]))
    assert occasion_of(resumption([])) == "the session is resumed"
    assert occasion_of(AUTH_COMPLETE) == "an account is connected"
    assert occasion_of("What is new?") == ""
    assert is_own(resumption(["mcp__mail__send"] * 80))
    assert resumption(["a", "b", "a"]).count("a, b.") == 1
    assert not is_own(f"What does this mean: {RESUMED}")
