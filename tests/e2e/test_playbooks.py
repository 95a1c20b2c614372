from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.live import demo_settings, live, of, processes
from tests.e2e.running import Finished, command, environment, model_environment, run
from tests.e2e.scripted_model import Text, scripted_model
from tests.e2e.terminal import TRACE, terminal
from tests.e2e.test_hostile_stores import state
from tests.embeddings_server import embeddings_server
from tests.faults.evidence import index_rest, is_indexed
from tests.journals import read_journal
from tests.observers.knowledge.recorded import passages
from ua_tui.core.events import types as ev
from ua_tui.core.knowledge.place import FILE

AGAIN = "What is new on AI chips since the last report?"
RESEARCH = "Research the latest AI chip news and write a comprehensive report"


def check_events(research: Finished) -> None:
    assert research.code == 0, research.stderr
    assert research.stdout.startswith("# AI chips")
    assert "(demo)" in research.stderr
    assert "crawl_parallel" in research.stderr
    assert "Traceback" not in research.stderr
    events = research.events
    assert isinstance(events[0], ev.SessionStarted)
    assert events[0].demo
    assert isinstance(events[-1], ev.SessionFinished)
    assert [e.seq for e in events] == sorted({e.seq for e in events})
    assert len(research.of(ev.QueryReceived)) == len(research.of(ev.QueryFinished)) == 1
    # What starts ends, once.
    for started, finished, field in (
        (ev.ToolCallStarted, ev.ToolCallFinished, "tool_use_id"),
        (ev.SubagentStarted, ev.SubagentFinished, "task_id"),
        (ev.ObserverStarted, ev.ObserverFinished, "run_id"),
    ):
        ids = [sorted(getattr(e, field) for e in research.of(kind)) for kind in (started, finished)]
        assert ids[0] == ids[1] == sorted(set(ids[0]))
    (agent,) = [e for e in research.of(ev.ToolCallStarted) if e.name in {"Agent", "Task"}]
    inner = [e for e in research.of(ev.ToolCallStarted) if e.parent_tool_use_id == agent.tool_use_id]
    assert {e.name.rpartition("__")[2] for e in inner} >= {
        "crawl_parallel",
        "write_local_file",
        "save_corpus",
    }
    in_order = [e.tool_use_id for e in research.of(ev.ToolCallFinished)]
    assert in_order.index(agent.tool_use_id) > max(in_order.index(e.tool_use_id) for e in inner)
    # Nobody is asked anything.
    assert len(research.of(ev.UntrustedTextRead)) == 1
    assert research.of(ev.PermissionAsked, ev.PermissionAnswered) == []
    (iteration,) = research.json("trace.json")["iterations"]
    assert (iteration["query"], iteration["tool_calls"]) == (RESEARCH, len(in_order))


def check_results(research: Finished) -> None:
    called = [e.observation for e in research.of(ev.ToolCallFinished) if e.observation]
    cut = [each for each in called if each.truncated]
    assert cut
    assert all(each.recovered for each in cut)
    files = research.session.glob("search_results/*.json")
    assert sum(len(json.loads(path.read_text(encoding="utf-8"))["results"]) for path in files) >= 30
    urls = (research.session / "search_results" / "urls.txt").read_text(encoding="utf-8").split()
    assert len(urls) == len(set(urls))
    (crawl,) = [each for each in called if each.tool_name.endswith("crawl_parallel")]
    reported = json.loads(crawl.output)
    assert len(reported["articles"]) == crawl.pages == 8
    assert len(reported["failed"]) == crawl.failed == 2
    assert all(each["error"] and each["code"] for each in reported["failed"])


def check_rules(research: Finished) -> None:
    rules = ["corpus-before-report", "claims-have-sources"]
    assert research.of(ev.ComplianceFailed) == []
    assert [e.rule for e in research.of(ev.ComplianceEnforced)] == rules
    assert {e.subagent for e in research.of(ev.ComplianceEnforced)} == {"report-creation-expert"}
    corpus = research.json("expanded_corpus.json")
    assert corpus["count"] == len(corpus["articles"]) >= 5
    draft, final = research.of(ev.ReportChecked)
    assert (draft.counts["figure"]["differs"], draft.red) == (1, 1)
    (missing, sent_back) = research.of(ev.ComplianceEnforced)
    assert missing.finding == "expanded_corpus.json is missing"
    assert "figure '23 percent'" in sent_back.message
    assert "nine percent" not in sent_back.message
    assert sent_back.finding == '"23 percent" differs from the source, which has nine percent'
    assert (final.red, final.doubtful) == (0, 1)
    assert final.counts["figure"]["found"] >= 50
    assert (final.counts["quotation"], final.counts["link"]) == ({"found": 2}, {"found": 10})
    (report,) = research.session.glob("work_products/*.html")
    check = research.json(final.check)
    assert check["sha256"] == final.sha256 == hashlib.sha256(report.read_bytes()).hexdigest()
    copies = [path.read_bytes() for path in (research.base / "SAVED_REPORTS").glob("ai-chip-news_*.html")]
    assert len(copies) == len(set(copies)) == 2
    assert report.read_bytes() in copies
    assert f"work_products/{report.name}" in {e.path for e in research.of(ev.ArtifactSaved)}


def check_files(research: Finished) -> None:
    database = research.session.parent / FILE
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    for path in [research.session, *research.session.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    log = (research.session / "run.log").read_text(encoding="utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", log)
    for name in ("transcript.md", "summary.txt", "run.log", "journal.jsonl"):
        assert "demo-key-of-no-value" not in (research.session / name).read_text(encoding="utf-8")
    found = {path.partition("/")[0] for _, path, _ in passages(database, "memory")}
    assert found >= {"", "search_results", "extracted_articles", "work_products"}
    # A session ends without its last passages where indexing them takes long.
    index_rest(research.base)
    assert is_indexed(research.session)


@pytest.mark.slow
def test_a_research_session_runs_is_opened_again_and_spares_the_next_one_work(tmp_path: Path) -> None:
    with embeddings_server() as server:
        keys = {
            f"UA_EMBEDDINGS_{name}": each
            for name, each in (("URL", server.url), ("MODEL", "m"), ("KEY", "sk-0"))
        }
        research = run(tmp_path, "run", "--demo", RESEARCH, env=environment(tmp_path, **keys))
    # The demo sends nothing anywhere.
    assert server.asked == []
    for check in (check_events, check_results, check_rules, check_files):
        check(research)
    before = state(tmp_path / "AGENT_RUN_WORKSPACES")
    with terminal(tmp_path, "open", "latest", columns=200, rows=50) as screen:
        screen.wait_for("Read-only: past session", "past session · finished", "AI chips this week")
        screen.wait_for("DEMO", "8/10 pages", "ai-chip-news.html", "report checked", "read-only")
        screen.type(TRACE + "\x1b[H\x1b[B\x1b[B\r")
        screen.wait_for("SEARCH_NEWS", "Arguments", "Result")
        screen.type("\x1b")
        screen.wait_for("Observers")
        screen.quit()
    copies = (tmp_path / "SAVED_REPORTS").glob("ai-chip-news_*.html")
    in_order = sorted(copies, key=lambda path: path.stat().st_mtime_ns)
    draft, final = (command(tmp_path, "check", str(copy)) for copy in in_order)
    assert (draft.code, final.code) == (1, 0)
    assert "nine percent" in draft.stdout
    assert "differs" not in final.stdout
    assert state(tmp_path / "AGENT_RUN_WORKSPACES") == before
    again = command(tmp_path, "again", str(in_order[-1]))
    assert again.code == 0, again.stderr
    assert re.search(r"Claims: \d\d in common, 0 changed, 0 only in A, 0 only in B", again.stdout)
    assert "Pages read: 8 in common, 0 only in A, 0 only in B" in again.stdout
    assert "The reports have the same text" in again.stdout
    (older, newer) = sorted((tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*"))
    compared = command(tmp_path, "compare", older.name, newer.name)
    assert compared.code == 0
    assert again.stdout.endswith(compared.stdout), "both print the one comparison"
    # Nothing that was read was fetched again.
    assert (newer / "journal.jsonl").read_text().count("from_knowledge") == 8
    check_a_second_research(tmp_path)


def check_a_second_research(tmp_path: Path) -> None:
    """It fetches only what is new."""
    done = run(tmp_path, "run", "--demo", AGAIN)
    assert done.code == 0, done.stderr
    folder = done.sessions[-1]
    events = read_journal(folder / "journal.jsonl").events
    pages = pages_of(events)
    known = [each for each in pages if each.get("from_knowledge")]
    assert known
    assert len(pages) - len(known) <= 0.4 * 10
    names = [event.name.rsplit("__", 1)[-1] for event in events if isinstance(event, ev.ToolCallStarted)]
    assert names[0] == "knowledge_search"
    assert "knowledge_read" in names
    assert names[-1] == "crawl_parallel"
    # They are articles of this session, and keep their age.
    saved = [event for event in events if isinstance(event, ev.ArtifactSaved) and event.kind == "article"]
    assert len(saved) == len(pages)
    for each in known:
        assert f'fetched_at: "{each["fetched_at"]}"' in (folder / each["path"]).read_text()
        assert each["url"] in done.stdout
    assert f"not fetched again: {len(known)}" in done.stdout
    assert f"Fetched now: {len(pages) - len(known)}" in done.stdout
    assert not [event for event in events if isinstance(event, ev.PermissionAsked)]


def pages_of(events: Sequence[ev.Event]) -> list[dict[str, Any]]:
    """What the crawler answered, for each page."""
    answers = [
        json.loads(event.observation.output)
        for event in events
        if isinstance(event, ev.ToolCallFinished)
        and event.observation
        and event.observation.tool_name.endswith("crawl_parallel")
    ]
    return [page for answer in answers for page in (*answer["articles"], *answer["failed"])]


@pytest.mark.slow
async def test_the_other_playbooks_play_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No folder of the user is imported.
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "__init__.py").write_text("import pathlib; pathlib.Path('imported').touch()\n")
    monkeypatch.chdir(tmp_path)
    async with live(demo_settings(tmp_path)) as here:
        session, events = here.session, here.events

        async def play(query: str) -> list[ev.Event]:
            before = len(events)
            session.submit(query)
            await session.wait_idle()
            return events[before:]

        # A simple question that needs a tool continues in the same turn.
        question = await play("Who is the CEO of Northwind Silicon?")
        (classified,) = of(question, ev.QueryClassified)
        assert (classified.decision, classified.source) == ("SIMPLE", "model")
        assert len(of(question, ev.PathFellBack)) == 1
        assert len(of(question, ev.QueryReceived)) == 1
        inputs = [json.dumps(event.input, sort_keys=True) for event in of(question, ev.ToolCallStarted)]
        assert len(inputs) == len(set(inputs))
        assert "Maretta" in of(question, ev.QueryFinished)[-1].text
        # A run in the workbench fails, is reported as failed, and is fixed.
        workbench = await play("Plot the monthly revenue in the workbench")
        statuses = [event.status for event in of(workbench, ev.ToolCallFinished)]
        assert statuses == ["error", "success", "success"]
        await play("Make a short clip of the launch video")
        # A service that is busy for a moment is asked again.
        busy = await play("Summarise the news while the service is busy")
        assert len(of(busy, ev.ApiRetry)) == 2
        assert not of(busy, ev.ErrorRaised)
        anything = await play("Compose a sonnet for my cat")
        honest = of(anything, ev.QueryFinished)[-1].text
        assert "scripted demo model" in honest
        assert RESEARCH in honest
        # No key is on a command line.
        lines = [command for _, _, command in processes() if str(tmp_path) in command or "claude" in command]
        assert len(lines) >= 2
        assert not any("demo-key-of-no-value" in line or "x-api-key" in line for line in lines)
    assert not (tmp_path / "imported").exists()
    assert [event.status for event in of(events, ev.QueryFinished)] == ["success"] * 5
    folder, saved = session.workspace.path, of(events, ev.ArtifactSaved)
    (chart,) = [each for each in saved if each.kind == "download"]
    assert (folder / chart.path).read_bytes().startswith(b"\x89PNG")
    activity = [json.loads(path.read_text()) for path in sorted(folder.glob("workbench_activity/*.json"))]
    assert sorted(each["output"]["successful"] for each in activity) == [False, True]
    (media,) = (folder / "work_products" / "media").iterdir()
    assert media.stat().st_size > 1000
    assert any(each.path == f"work_products/media/{media.name}" for each in saved)


def test_json_prints_the_journal_and_without_a_knowledge_base_none_is_offered_or_written(
    tmp_path: Path,
) -> None:
    offered: set[str] = set()

    def reply(body: dict[str, Any], _results: int) -> list[Text]:
        offered.update(tool["name"] for tool in body.get("tools", []))
        return [Text("It is Paris.")]

    with scripted_model(reply) as url:
        env = model_environment(tmp_path, url, UA_CLASSIFIER="rules", UA_KNOWLEDGE="off")
        done = run(tmp_path, "run", "--json", "What is the capital of France?", env=env)
    assert done.code == 0, done.stderr
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    kept = [json.loads(line) for line in (done.session / "journal.jsonl").read_text().splitlines()]
    assert printed == kept
    names = [each["event"] for each in printed]
    assert names[0] == "session_started"
    assert names[-1] == "session_finished"
    assert "tool_call_started" not in names
    (classified,) = done.of(ev.QueryClassified)
    assert (classified.decision, classified.source) == ("SIMPLE", "rule")
    assert "mcp__local_toolkit__list_directory" in offered
    assert not any("knowledge" in name for name in offered)
    assert not (tmp_path / "AGENT_RUN_WORKSPACES" / FILE).exists()


def test_mail_without_a_connected_account_leaves_a_link_and_sends_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "run", "--demo", "Email the report to the team")
    assert done.code == 0, done.stderr
    (asked,) = done.of(ev.AuthRequired)
    assert asked.toolkit == "gmail"
    link = re.search(r"https://connect\.composio\.example/link/([\w-]+)", done.stderr)
    assert link
    files = [path for path in done.session.rglob("*") if path.is_file()]
    assert [path for path in files if link.group(1).encode() in path.read_bytes()] == []
    assert [e.outcome for e in done.of(ev.AuthFinished)] == ["unattended"]
    trace = done.json("trace.json")
    assert trace["iterations"][0]["needs_user_input"] is True
    assert not any("SEND" in json.dumps(e.input) for e in done.of(ev.ToolCallStarted))
