from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.observers.conftest import pages_found
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.observers.base import Interest, ObserverContext, Outcome
from ua_tui.observers.search_results import SearchResults, explain

MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
Make = Callable[..., ToolResult]


def row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "title": f"Title {number}",
        "url": f"https://site{number}.example/page",
        "snippet": "Said.",
        **more,
    }


ITEMS = [row(1), row(2), row(3)]


@pytest.mark.parametrize(
    ("tool", "inner", "interest"),
    [
        ("mcp__composio__COMPOSIO_SEARCH_NEWS", None, Interest.SURE), ("WebSearch", None, Interest.SURE),
        ("mcp__composio__COMPOSIO_REMOTE_WORKBENCH", None, Interest.NONE),
        ("mcp__unheard_of__do_it", None, Interest.CURIOUS), (MULTI, None, Interest.CURIOUS),
        (MULTI, [], Interest.CURIOUS), (MULTI, "odd", Interest.CURIOUS),
        (MULTI, [None, {"tool_slug": 7}], Interest.CURIOUS),
        (MULTI, [{"tool_slug": "GMAIL_SEND_EMAIL"}], Interest.NONE),
        (MULTI, [{"tool_slug": "GMAIL_SEND_EMAIL"}, {}], Interest.CURIOUS),
        (MULTI, [{"tool_slug": "GMAIL_SEND_EMAIL"}, {"tool_slug": "NEW_THING"}], Interest.CURIOUS),
        (MULTI, [{"tool_slug": "GMAIL_SEND_EMAIL"}, {"tool_slug": "COMPOSIO_SEARCH_WEB"}], Interest.SURE),
        (MULTI, [{"tool_slug": "GMAIL_SEND_EMAIL"}] * 10_000, Interest.CURIOUS),
    ],
)  # fmt: skip
def test_a_call_is_judged_by_its_names(tool: str, inner: Any, interest: Interest) -> None:
    arguments = {} if inner is None else {"tools": inner}
    call = ToolCall(tool_use_id="t", name=tool, input=arguments)
    assert SearchResults().wants(call) is interest


@pytest.mark.parametrize("answer", [None, "It is half a character: \ud800"])
def test_signed_addresses_stay_and_known_secrets_go(
    context: ObserverContext, result: Make, answer: str | None
) -> None:
    context.workspace.redactor.add("my-own-secret-value")
    signed, secret = (
        "https://b.example/book?id=1&sig=1YRs1lHY30DgfzqDWglT",
        "https://b.example/?key=my-own-secret-value",
    )
    found = {"answer": answer, "results": [row(1) | {"url": signed}, row(2) | {"url": secret}]}
    (artifact,) = pages_found(context, result("mcp__x__web_search", found))
    assert artifact["results"][0]["url"] == signed
    assert "my-own-secret-value" not in json.dumps(artifact)
    listed = context.workspace.read("search_results/urls.txt").decode()
    assert signed in listed
    assert "my-own-secret-value" not in listed


def test_a_call_that_failed_is_recorded(context: ObserverContext, result: Make) -> None:
    error = "MCP error -32603"
    (refused,) = pages_found(context, result("mcp__x__web_search", error, "t4", error=error))
    assert (refused["type"], refused["error"]) == ("error", error)


NONE_FOUND = "no results were recognised in the answer of web_search; saved as it is"
NO_JSON = "the result looks like JSON but cannot be read; saved as it is"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("[1] See the footnote.", NONE_FOUND), ('{"result": "Only words."}', NONE_FOUND),
        ('{"resul', NO_JSON), ("[" * 20_000, "nested too deeply"),
    ],
    ids=["words", "words in an object", "cut off", "brackets"],
)  # fmt: skip
def test_what_no_rule_reads_is_kept_raw(context: ObserverContext, result: Make, text: str, note: str) -> None:
    outcome = SearchResults().observe(result("mcp__x__web_search", text), context)
    (saved,) = outcome.artifacts
    assert saved.kind == "unparsed"
    assert note in (outcome.note or "")
    assert saved.path.startswith("search_results/unparsed/")
    assert context.workspace.read(saved.path).decode().endswith(f"\ntool_use_id: toolu_1\n\n{text}")
    again = SearchResults().observe(result("mcp__x__web_search", text), context)
    assert again.artifacts == ()
    assert saved.path in (again.note or "")


def test_a_news_search_also_has_its_articles_in_short(context: ObserverContext, result: Make) -> None:
    context.workspace.redactor.add("my-own-secret-value")
    long = "x" * 490 + " my-own-secret-value " + "y" * 1_000
    items = [row(1, date="2 hours ago", source="Site", snippet=long), row(2, date="2025", snippet="a\x1bb")]
    (news,) = pages_found(context, result("COMPOSIO_SEARCH_NEWS", {"data": {"news_results": items}}))
    short = {
        "position": 2,
        "title": "Title 2",
        "url": "https://site2.example/page",
        "source": "site2.example",
    }
    assert news["articles"][1] == {**short, "date": "2025", "snippet": "ab"}
    first = news["articles"][0]
    assert (first["source"], first["date"]) == ("Site", news["results"][0]["date"][:10])
    assert first["snippet"] == "x" * 490 + " [redacted"
    assert list(first) == ["position", "title", "url", "source", "date", "snippet"]
    (web,) = pages_found(context, result("mcp__x__web_search", {"organic_results": items}, "t2"))
    assert "articles" not in web


def test_words_of_a_search_inside_a_call_of_several_are_kept_beside_the_results(
    context: ObserverContext, result: Make
) -> None:
    ran = [
        {"tool_slug": "COMPOSIO_SEARCH_NEWS", "response": {"data": {"news_results": ITEMS}}},
        {"tool_slug": "BRAVE_WEB_SEARCH", "response": {"data": "Nobody\ncould read this."}},
    ]
    asked = [{"tool_slug": each["tool_slug"], "arguments": {}} for each in ran]
    outcome = SearchResults().observe(result(MULTI, {"data": {"results": ran}}, tools=asked), context)
    assert [saved.kind for saved in outcome.artifacts] == ["search_results", "unparsed"]
    assert "no results were recognised in the answer of BRAVE_WEB_SEARCH" in (outcome.note or "")


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("mcp__x__thing", "Words of a tool that is no search."),
        ("mcp__x__web_search", " \n"),
        ("mcp__x__web_search", '{"successful": true, "data": {}}'),
    ],
)
def test_only_answers_of_a_certain_search_are_kept(
    context: ObserverContext, result: Make, tool: str, text: str
) -> None:
    outcome = SearchResults().observe(result(tool, text), context)
    assert (outcome.artifacts, outcome.note) == ((), "no search results")


@pytest.mark.parametrize(
    "answer",
    [
        {"found": 2, "entries": [{"key": "a1", "score": 3}, {"key": "b2", "score": 1}]},
        {"citations": [{"place": 1}]},
        [["rye", 3], ["oats", 1]],
    ],
)  # fmt: skip
def test_an_answer_in_json_that_is_not_understood_is_kept(
    context: ObserverContext, result: Make, answer: object
) -> None:
    outcome = SearchResults().observe(result("mcp__x__web_search", answer), context)
    assert [saved.kind for saved in outcome.artifacts] == ["unparsed"]
    kept = context.workspace.read_artifact(outcome.artifacts[0].path).decode()
    assert kept.endswith(f"\n\n{json.dumps(answer)}")


def test_the_same_content_is_saved_once(context: ObserverContext, result: Make) -> None:
    def observe(where: ObserverContext, tool_use_id: str = "toolu_1") -> Outcome:
        return SearchResults().observe(result("mcp__x__web_search", {"results": ITEMS}, tool_use_id), where)

    first = observe(context)
    reopened = observe(ObserverContext(context.workspace, context.now))
    assert (len(first.artifacts), first.items) == (1, 3)
    assert [each.artifacts for each in (observe(context), observe(context, "toolu_2"), reopened)] == [()] * 3
    assert first.artifacts[0].path in (reopened.note or "")
    assert len(context.workspace.read("search_results/urls.txt").split()) == 3


def test_a_url_seen_before_is_marked_and_not_listed_again(context: ObserverContext, result: Make) -> None:
    pages_found(context, result("mcp__x__web_search", {"results": [row(1)]}))
    same = {"title": "Again", "url": "http://www.SITE1.example/page/?utm_source=x#top", "snippet": "s"}
    outcome = SearchResults().observe(
        result("mcp__x__web_search", {"results": [same, row(2), row(2)]}, "t2"), context
    )
    artifact = json.loads(context.workspace.read(outcome.artifacts[0].path))
    assert [found.get("duplicate", False) for found in artifact["results"]] == [True, False, True]
    assert (artifact["duplicates"], outcome.duplicates) == (2, 2)
    assert len(context.workspace.read("search_results/urls.txt").split()) == 2


@pytest.mark.slow
def test_texts_full_of_openings_are_read_in_time_that_grows_with_them(
    context: ObserverContext, result: Make
) -> None:
    open_comments = "<!--" * 50_000
    rows = [row(1, snippet=open_comments), row(2, snippet=f"a<!-- b -->c{open_comments}")]
    (artifact,) = pages_found(context, result("mcp__x__web_search", {"organic_results": rows}))
    assert artifact["results"][0]["snippet"] == open_comments
    assert artifact["results"][1]["snippet"].startswith("ac<!--")
    lists = {f"block_{number}": [row(number), row(number + 1)] for number in range(0, 6_000, 2)}
    assert SearchResults().observe(result("mcp__x__web_search", lists), context).items == 6_000


@pytest.mark.parametrize(
    ("tool", "body", "said"),
    [
        (
            "mcp__x__web_search",
            {"results": [row(1), row(2)], "tags": [{"id": 7}]},
            ["has the name of a search", "results (2 items): taken as results of the kind web", "(1 item): not taken"],
        ),
        ("mcp__x__list_things", {"items": [{"id": 1}]}, ["not have the name of a search", "items (1 item): not taken"]),
        ("mcp__gmail__search", {"messages": [row(1)]}, ["is not treated as a search"]),
        ("mcp__x__web_search", "Nothing but words.", ["was read as text", "no results were recognised"]),
        ("mcp__x__find_things", "Nothing but words.", ["was read as text", "There is no list"]),
    ],
)  # fmt: skip
def test_why_a_list_is_taken_or_not_is_explained(
    context: ObserverContext, result: Make, tool: str, body: Any, said: list[str]
) -> None:
    lines = "\n".join(explain(result(tool, body), context))
    assert [words for words in said if words not in lines] == [], lines


@pytest.mark.parametrize("name", ["results", "news_results"])
@pytest.mark.parametrize("first", [True, False])
def test_the_texts_of_known_addresses_are_saved_with_their_results(
    context: ObserverContext, result: Make, name: str, first: bool
) -> None:
    texts = [
        {"url": each["url"], "text": f"Text {half} of page {n}."}
        for n, each in enumerate(ITEMS)
        for half in (1, 2)
    ]
    lists = {name: ITEMS, "excerpts": texts, "cited": [{"url": each["url"]} for each in ITEMS]}
    outcome = SearchResults().observe(
        result("mcp__x__web_search", lists if first else dict(reversed(lists.items()))), context
    )
    (saved,) = outcome.artifacts
    page = json.loads(context.workspace.read(saved.path))
    assert (outcome.items, outcome.duplicates, page["duplicates"]) == (3, 0, 0)
    assert [row["title"] for row in page["results"]] == [each["title"] for each in ITEMS]
    assert [row["extra"]["passages"] for row in page["results"]] == [
        [{"snippet": f"Text {half} of page {n}."} for half in (1, 2)] for n in range(3)
    ]
    changed = [{**each, "text": "Another."} for each in texts]
    again = SearchResults().observe(
        result("mcp__x__web_search", lists | {"excerpts": changed}, "t2"), context
    )
    assert len(again.artifacts) == 1


def test_texts_of_other_addresses_are_results_of_their_own(context: ObserverContext, result: Make) -> None:
    texts = [{"url": row(n)["url"], "text": f"A text of page {n}."} for n in (2, 3, 4)]
    pages = pages_found(
        context, result("mcp__x__web_search", {"results": [row(1), row(2)], "excerpts": texts})
    )
    assert [len(page["results"]) for page in pages] == [2, 3]
