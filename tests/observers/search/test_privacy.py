"""Results of private tools are not saved, those of public searches are; `privacy.txt` has names of real tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON, make_result
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import Interest, ObserverContext, Outcome
from ua_tui.observers.search.privacy import is_public_search, rows_are_public
from ua_tui.observers.search_results import SearchResults

Make = Callable[..., ToolResult]
SECTIONS = Path(__file__).with_name("privacy.txt").read_text(encoding="utf-8").split("# ")[1:]
NAMES = {title: names.split() for title, _, names in (section.partition("\n") for section in SECTIONS)}
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"


def rows(*hosts: str, **more: Any) -> list[dict[str, Any]]:
    return [
        {"title": f"T{number}", "url": f"https://{host}/{number}", "description": "Words.", **more}
        for number, host in enumerate(hosts)
    ]


WEB = rows("ash.example", "www.birch.example", "cedar.example")
OWN = rows("wiki.acme.example", "docs.acme.example", "hr.acme.example")


def observe(context: ObserverContext, result: ToolResult) -> Outcome:
    return SearchResults().observe(result, context) if SearchResults().wants(result.call) else Outcome()


def saved_names(tmp_path: Path, names: list[str], body: object) -> list[str]:
    """The tools whose result is saved, each called by itself or, with a name of capitals, also among several."""
    found = []
    for number, name in enumerate(names):
        ran = {"data": {"results": [{"tool_slug": name, "response": {"data": body}}]}}
        results = [make_result(f"mcp__{name.replace('/', '__')}" if "/" in name else name, body)]
        if name.isupper():
            results.append(make_result(MULTI, ran, tools=[{"tool_slug": name, "arguments": {}}]))
        with closing(Workspace.create(tmp_path / f"{number}", NOON)) as workspace:
            context = ObserverContext(workspace, now=lambda: NOON)
            if any(observe(context, result).artifacts for result in results):
                found.append(name)
        files = [path for path in context.workspace.path.glob("search_results/**/*") if path.is_file()]
        assert bool(files) == (found[-1:] == [name])
    return found


@pytest.mark.parametrize("body", [WEB, OWN], ids=["many sites", "one site"])
def test_public_searches_are_saved_whatever_their_rows_are(tmp_path: Path, body: object) -> None:
    assert set(NAMES["public"]) - set(saved_names(tmp_path, NAMES["public"], {"results": body})) == set()


def test_no_rows_of_tools_with_private_names_are_saved(tmp_path: Path) -> None:
    assert saved_names(tmp_path, NAMES["private"], {"results": WEB}) == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(OWN, id="one site"),
        pytest.param(rows("acme.atlassian.net", "drive.google.com"), id="services"),
        pytest.param([*WEB, *rows("acme.slack.com")], id="a service among others"),
        pytest.param(rows("wiki", "10.0.0.5", "portal.corp", "localhost", "[::1]"), id="intranet"),
        pytest.param(rows("ash.example:8443", "birch.example:9000"), id="ports"),
        pytest.param(rows("ash.example", "birch.example", phone="+1 555 0100"), id="phone"),
        pytest.param(rows("ash.example", "birch.example", by={"is": ["ada@ash.example"]}), id="mail address"),
        pytest.param([*WEB, {"title": "T", "description": "Words."}], id="a row without address"),
        pytest.param([], id="nothing"),
    ],
)
def test_rows_of_unknown_tools_have_to_show_that_they_are_public(tmp_path: Path, body: object) -> None:
    assert saved_names(tmp_path, NAMES["unknown"], {"results": body}) == []


def test_rows_that_show_it_are_saved_of_searches_alone(tmp_path: Path) -> None:
    names = ["acme/search", "ACME_SEARCH", "acme/do_it", "ACME_DO_IT"]
    assert saved_names(tmp_path, names, {"results": WEB}) == names[:2]


@pytest.mark.parametrize(("body", "saved"), [(WEB, True), (OWN, False)])
def test_rows_of_a_call_that_does_not_say_which_tool_ran_have_to_show_it(
    context: ObserverContext, result: Make, body: object, saved: bool
) -> None:
    ran = {"data": {"results": [{"response": {"data": {"answer": "A.", "citations": body}}}]}}
    assert bool(observe(context, result(MULTI, ran)).artifacts) is saved


@pytest.mark.parametrize(
    ("urls", "public"),
    [
        ("https://a.example/ https://b.example/", True),
        ("https://bbc.co.uk/ https://itv.co.uk/", True),
        ("https://a.bbc.co.uk/ https://b.bbc.co.uk/", False),
        ("https://a.example/ https://www.a.example/", False),
        ("https://a.example/ https://ada@b.example/", False),
        ("https://a.example/ https://jira.b.example/", False),
        ("https://a.example/ https://0x7f.1/", False),
        ("https://a.example/ https://b.example:443/", True),
        ("https://a.example/ https://xn--bcher-kva.example/", True),
        ("https://a.example/ https://[", False),
    ],
)  # fmt: skip
def test_sites_that_anybody_can_open(urls: str, public: bool) -> None:
    assert rows_are_public([], urls.split()) is public


@pytest.mark.parametrize(
    "name",
    [
        "mcp__exa__search_employees", "mcp__exa__searchEmployees", "mcp__exa__searchemployees", "EXA_SEARCH_CANDIDATES",
        "mcp__reddit__list_saved", "mcp__acme_intranet__web_search", "mcp__my_exa__search", "mcp__HRSearch__web_search",
        "mcp__github__search_web_tickets",
    ],
)  # fmt: skip
def test_a_private_word_beside_a_known_name(name: str) -> None:
    assert not is_public_search(name)


def test_the_note_says_how_a_public_search_is_saved(context: ObserverContext, result: Make) -> None:
    found = result("mcp__acme__search", {"results": OWN})
    context.public_searches = ("mcp__other__find",)
    outcome = observe(context, found)
    assert outcome.artifacts == ()
    command = "ua-tui config set public_searches "
    note, _, names = str(outcome.note).partition(command)
    assert note.startswith("not saved, because ")
    context.public_searches = tuple(names.removesuffix("`").split(","))
    assert context.public_searches == ("mcp__other__find", "mcp__acme__search")
    (saved,) = observe(context, found).artifacts
    urls = [row["url"] for row in json.loads(context.workspace.read_artifact(saved.path))["results"]]
    assert urls == [row["url"] for row in OWN]


@pytest.mark.parametrize(
    ("slugs", "kept"),
    [
        (["COMPOSIO_SEARCH_NEWS"], True), (["COMPOSIO_SEARCH_NEWS", "GMAIL_FETCH_EMAILS"], False),
        (["ACME_SEARCH"], False), ([], False),
    ],
)  # fmt: skip
def test_unparsed_results_are_kept_of_public_searches_only(
    context: ObserverContext, result: Make, slugs: list[str], kept: bool
) -> None:
    asked = [{"tool_slug": slug, "arguments": {}} for slug in slugs]
    cut = '{"data": {"results": [{"tool_slug": "COMPOSIO_SEARCH_NEWS", "response": {"data": {"news_re'
    outcome = observe(context, result(MULTI, cut, tools=asked))
    assert [saved.kind for saved in outcome.artifacts] == ["unparsed"] * kept


@pytest.mark.parametrize("tool", ["mcp__acme__search", "mcp__hr__search_candidates"])
@pytest.mark.parametrize("error", [None, "no such index: candidates"])
def test_nothing_is_kept_of_a_private_search_without_rows(
    context: ObserverContext, result: Make, tool: str, error: str | None
) -> None:
    answer = result(tool, {"results": []}, "toolu_1", error=error)
    assert observe(context, answer).artifacts == ()
    assert SearchResults().wants(answer.call) in (Interest.SURE, Interest.NONE)
