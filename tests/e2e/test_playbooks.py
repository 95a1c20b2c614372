from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from core.events.types import (
    ApiRetry,
    ArtifactSaved,
    AuthFinished,
    AuthRequired,
    ComplianceEnforced,
    ComplianceFailed,
    ErrorRaised,
    ObserverFinished,
    ObserverStarted,
    PathFellBack,
    PermissionAnswered,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from tests.e2e.running import Finished, run

RESEARCH = "Research the latest AI chip news and write a comprehensive report"


@pytest.fixture(scope="module")
def research(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return run(tmp_path_factory.mktemp("research"), "run", "--demo", RESEARCH)


def test_research_answers_on_stdout_and_tells_its_progress_on_stderr(research: Finished) -> None:
    assert research.code == 0, research.stderr
    assert research.stdout.startswith("# AI chips")
    assert "DEMO" in research.stderr
    assert "crawl_parallel" in research.stderr
    assert "Traceback" not in research.stderr


def test_research_keeps_the_order_events_promise(research: Finished) -> None:
    events = research.events
    assert isinstance(events[0], SessionStarted)
    assert events[0].demo
    assert isinstance(events[-1], SessionFinished)
    assert [e.seq for e in events] == sorted({e.seq for e in events})
    started = [e.tool_use_id for e in research.of(ToolCallStarted)]
    finished = [e.tool_use_id for e in research.of(ToolCallFinished)]
    assert sorted(started) == sorted(finished)
    assert len(started) == len(set(started))
    assert len(research.of(QueryReceived)) == len(research.of(QueryFinished)) == 1
    assert {e.task_id for e in research.of(SubagentStarted)} == {
        e.task_id for e in research.of(SubagentFinished)
    }
    assert {e.run_id for e in research.of(ObserverStarted)} == {
        e.run_id for e in research.of(ObserverFinished)
    }


def test_research_recovers_results_the_agent_was_shown_only_in_part(research: Finished) -> None:
    cut = [e.observation for e in research.of(ToolCallFinished) if e.observation and e.observation.truncated]
    assert cut
    assert all(observation.recovered for observation in cut)
    rows = [
        row
        for path in sorted(research.session.glob("search_results/*.json"))
        for row in json.loads(path.read_text(encoding="utf-8"))["results"]
    ]
    assert len(rows) >= 30
    urls = (research.session / "search_results" / "urls.txt").read_text(encoding="utf-8").split()
    assert len(urls) == len(set(urls))


def test_the_corpus_rule_sends_the_sub_agent_back_exactly_once(research: Finished) -> None:
    assert len(research.of(ComplianceFailed)) == 1
    (enforced,) = research.of(ComplianceEnforced)
    assert enforced.subagent == "report-creation-expert"
    names = [e.name for e in research.of(ToolCallStarted)]
    assert names.index("mcp__local_toolkit__save_corpus") > names.index("mcp__local_toolkit__crawl_parallel")
    corpus = research.json("expanded_corpus.json")
    assert corpus["count"] == len(corpus["articles"]) >= 5


def test_the_sub_agents_calls_are_its_own(research: Finished) -> None:
    (agent,) = [e for e in research.of(ToolCallStarted) if e.name in {"Agent", "Task"}]
    inner = [e for e in research.of(ToolCallStarted) if e.parent_tool_use_id == agent.tool_use_id]
    assert {e.name for e in inner} >= {
        "mcp__local_toolkit__crawl_parallel",
        "mcp__local_toolkit__write_local_file",
        "mcp__local_toolkit__save_corpus",
    }
    finished = [e.tool_use_id for e in research.of(ToolCallFinished)]
    assert finished.index(agent.tool_use_id) > max(finished.index(e.tool_use_id) for e in inner)


def test_the_report_is_saved_and_survives_the_session(research: Finished) -> None:
    (report,) = research.session.glob("work_products/*.html")
    assert "<h1" in report.read_text(encoding="utf-8")
    copies = [path.read_bytes() for path in (research.base / "SAVED_REPORTS").glob("ai-chip-news_*.html")]
    assert len(copies) == len(set(copies)) == 2
    assert report.read_bytes() in copies
    saved = {e.path: e for e in research.of(ArtifactSaved)}
    assert f"work_products/{report.name}" in saved


def test_failed_pages_are_named_and_cost_the_others_nothing(research: Finished) -> None:
    (crawl,) = [
        e.observation
        for e in research.of(ToolCallFinished)
        if e.observation and e.observation.tool_name.endswith("crawl_parallel")
    ]
    told = json.loads(crawl.output)
    assert len(told["articles"]) == crawl.pages == 8
    assert len(told["failed"]) == crawl.failed == 2
    assert all(each["error"] and each["code"] for each in told["failed"])


def test_trace_json_has_the_keys_it_is_known_by(research: Finished) -> None:
    trace = research.json("trace.json")
    assert set(trace) == {
        "session_info", "query", "start_time", "end_time", "total_duration_seconds", "tool_calls",
        "tool_results", "iterations", "logfire_enabled", "trace_id",
    }  # fmt: skip
    assert set(trace["session_info"]) == {"url", "user_id", "timestamp"}
    assert {k for call in trace["tool_calls"] for k in call} == {
        "iteration", "name", "id", "time_offset_seconds", "input_size_bytes", "input_preview"
    }  # fmt: skip
    assert {k for result in trace["tool_results"] for k in result} == {
        "tool_use_id", "time_offset_seconds", "is_error", "content_size_bytes", "content_preview"
    }  # fmt: skip
    (iteration,) = trace["iterations"]
    assert set(iteration) == {
        "iteration", "query", "duration_seconds", "tool_calls", "needs_user_input", "auth_link"
    }  # fmt: skip
    assert trace["query"] == RESEARCH
    assert len(trace["tool_calls"]) == len(trace["tool_results"]) == iteration["tool_calls"]


def test_everything_of_the_session_is_private_and_free_of_escapes(research: Finished) -> None:
    for path in [research.session, *research.session.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    log = (research.session / "run.log").read_text(encoding="utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", log)
    for name in ("transcript.md", "summary.txt", "run.log", "journal.jsonl"):
        text = (research.session / name).read_text(encoding="utf-8")
        assert "demo-key-of-no-value" not in text


def test_json_prints_the_journal_line_by_line(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "--json", "What is the capital of France?")
    assert done.code == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    kept = [json.loads(line) for line in (done.session / "journal.jsonl").read_text().splitlines()]
    assert printed == kept
    names = [each["event"] for each in printed]
    assert names[0] == "session_started"
    assert names[-1] == "session_finished"
    assert "tool_call_started" not in names
    (classified,) = done.of(QueryClassified)
    assert (classified.decision, classified.source) == ("SIMPLE", "rule")


def test_a_simple_question_that_needs_a_tool_goes_on_in_the_same_turn(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Who is the CEO of Northwind Silicon?")
    assert done.code == 0, done.stderr
    (classified,) = done.of(QueryClassified)
    assert (classified.decision, classified.source) == ("SIMPLE", "model")
    assert len(done.of(PathFellBack)) == 1
    assert len(done.of(QueryReceived)) == 1
    inputs = [json.dumps(e.input, sort_keys=True) for e in done.of(ToolCallStarted)]
    assert len(inputs) == len(set(inputs))
    assert "Maretta" in done.stdout


def test_a_workbench_run_that_fails_is_told_as_failed_and_fixed(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Plot the monthly revenue in the workbench")
    assert done.code == 0, done.stderr
    assert [e.status for e in done.of(ToolCallFinished)] == ["error", "success", "success"]
    (chart,) = [saved for saved in done.of(ArtifactSaved) if saved.kind == "download"]
    assert (done.session / chart.path).read_bytes().startswith(b"\x89PNG")
    activity = [json.loads(p.read_text()) for p in sorted(done.session.glob("workbench_activity/*.json"))]
    assert sorted(each["output"]["successful"] for each in activity) == [False, True]


def test_mail_without_a_connected_account_leaves_a_link_and_sends_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Email the report to the team")
    assert done.code == 0, done.stderr
    (asked,) = done.of(AuthRequired)
    assert asked.toolkit == "gmail"
    assert "connect.composio.dev/link/" in done.stderr
    link = re.search(r"https://connect\.composio\.dev/link/([\w-]+)", done.stderr)
    assert link
    for path in done.session.rglob("*"):
        if path.is_file():
            assert link.group(1) not in path.read_text(encoding="utf-8", errors="replace"), path
    assert [e.outcome for e in done.of(AuthFinished)] == ["unattended"]
    trace = done.json("trace.json")
    assert trace["iterations"][0]["needs_user_input"] is True
    assert not any("SEND" in json.dumps(e.input) for e in done.of(ToolCallStarted))


def test_a_media_file_is_kept_in_the_session(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Make a short clip of the launch video")
    assert done.code == 0, done.stderr
    (kept,) = (done.session / "work_products" / "media").iterdir()
    assert kept.stat().st_size > 1000
    assert any(e.path == f"work_products/media/{kept.name}" for e in done.of(ArtifactSaved))


def test_an_overloaded_service_is_seen_and_survived(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Summarise the news while the service is busy")
    assert done.code == 0, done.stderr
    assert len(done.of(ApiRetry)) == 2
    assert "attempt 1" in done.stderr
    assert not done.of(ErrorRaised)


def test_any_other_question_gets_an_honest_answer(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Compose a sonnet for my cat")
    assert done.code == 0, done.stderr
    assert "scripted demo model" in done.stdout
    assert RESEARCH in done.stdout


def test_nothing_is_asked_of_anybody_headless(research: Finished) -> None:
    assert not research.of(PermissionAnswered)
