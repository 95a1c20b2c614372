"""Answers of search services and servers, in documented or recorded shapes with invented values.

Each file of `answers` has the answers of one kind by name: the tool, what it answered, and the rows expected of it by
the type of results; `columns` names the fields of these rows, `artifact` has other fields of the artifact, and `pages`
the tool, query, answer and error of each.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON, make_result, pages_found
from tests.observers.formats import problems_in
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.decoding.decode import decode_text, decode_texts
from ua_tui.observers.search_results import SearchResults

Make = Callable[..., ToolResult]
ANSWERS = sorted(Path(__file__).with_name("answers").glob("*.json"))
A, B = "https://one.example/page?x=1", "https://two.example/page?x=1"
T, U = {"title": "One", "link": A}, {"title": "Two", "link": B}
SEARCH = "mcp__x__web_search"


def expected(answer: dict[str, Any]) -> dict[str, Any]:
    """What an answer has to give."""
    return {
        "results": answer["results"],
        "artifact": answer.get("artifact", {}),
        "pages": answer.get("pages", []),
    }


def found(folder: Path, answer: dict[str, Any]) -> dict[str, Any]:
    """The rows, and the fields that are expected, of what is saved of an answer."""
    folder.mkdir()
    body = answer["answer"]
    result = make_result(
        answer["tool"], json.dumps(body) if body == [] else body, **answer.get("arguments", {})
    )
    if not SearchResults().wants(result.call):
        return {"results": {}, "artifact": {}, "pages": []}
    workspace = Workspace.create(folder, NOON)
    context = ObserverContext(workspace, now=lambda: NOON)
    results: dict[str, list[list[Any]]] = {}
    fields: dict[str, Any] = {}
    pages: list[list[Any]] = []
    for page in pages_found(context, result):
        # A page without rows counts where it is said that nothing was found, or an error.
        if page["results"] or answer["results"]:
            rows = [
                [row.get(name) for name in answer.get("columns", ("title", "url"))] for row in page["results"]
            ]
            results.setdefault(page["type"], []).extend(rows)
        if "pages" in answer:
            pages.append([page.get(name) for name in ("tool", "query", "answer", "error")])
        for name, value in answer.get("artifact", {}).items():
            saved: Any = page.get(name)
            fields.setdefault(
                name, {key: saved[key] for key in value} if saved and isinstance(value, dict) else saved
            )
    assert problems_in(workspace) == []
    workspace.close()
    return {"results": results, "artifact": fields, "pages": pages}


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_answers_give_their_rows(path: Path, tmp_path: Path) -> None:
    answers = json.loads(path.read_text(encoding="utf-8"))
    read = {
        name: found(tmp_path / f"{number}", answer) for number, (name, answer) in enumerate(answers.items())
    }
    wrong = {name: each for name, each in read.items() if each != expected(answers[name])}
    assert wrong == {}, {name: expected(answers[name]) for name in wrong}


def test_a_document_a_line(context: ObserverContext, result: Make) -> None:
    text = "\n".join(json.dumps({"title": f"T{n}", "url": f"{A}&n={n}"}) for n in range(100))
    (artifact,) = pages_found(context, result(SEARCH, text))
    assert len(artifact["results"]) == 100


def test_each_of_several_searches_has_its_own_query_and_related_searches(
    context: ObserverContext, result: Make
) -> None:
    body = [
        {"searchParameters": {"q": "first"}, "organic": [T], "relatedSearches": [{"query": "rye bread"}]},
        {"searchParameters": {"q": "second", "type": "news"}, "news": [U]},
        {"searchParameters": {"q": "third", "type": "search"}, "organic": []},
    ]
    pages = pages_found(context, result(SEARCH, body))
    assert {(each["query"], each["type"], len(each["results"])) for each in pages} == {
        ("first", "web", 1), ("second", "news", 1), ("third", "web", 0)
    }  # fmt: skip
    assert {each["query"]: each.get("related_searches") for each in pages}["first"] == ["rye bread"]
    assert [each.get("related_searches") for each in pages].count(None) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"Title: One\nURL: {A}\nContent: s\n\n... [truncated]",
        json.dumps({"results": [T, U]})[:100] + "\n\n[OUTPUT TRUNCATED - exceeded 25000 token limit]",
        json.dumps({"result": json.dumps({"data": json.dumps({"results": [T, U]})})})[:-40],
        json.dumps({"results": [T, U]})[:-24],  # in the second address
    ],
)
def test_a_cut_is_noticed_and_a_part_of_an_address_is_none(
    context: ObserverContext, result: Make, text: str
) -> None:
    (artifact,) = pages_found(context, result(SEARCH, text))
    assert artifact["truncated"] is True
    assert [row["url"] for row in artifact["results"] if row["url"]] == [A]


@pytest.mark.parametrize(
    "bad",
    [["no row", None, 7, {}, [1], {"error": "e"}, {"url": 17}], [{"title": "no address"}] * 7, [None] * 7],
    ids=["mixed", "titles", "nulls"],
)
def test_two_good_rows_among_seven_bad_ones_are_saved(
    context: ObserverContext, result: Make, bad: list[Any]
) -> None:
    rows = [*bad[:3], T, *bad[3:5], U, *bad[5:]]
    outcome = SearchResults().observe(result(SEARCH, {"results": rows}), context)
    (saved,) = outcome.artifacts
    artifact = json.loads(context.workspace.read_artifact(saved.path))
    assert [row["url"] for row in artifact["results"]] == [A, B]
    assert (outcome.items, outcome.rejected, artifact["rejected"]) == (2, 7, 7)
    assert outcome.note == "7 items are not results and were skipped"


def test_a_document_written_as_text_and_cut_off(context: ObserverContext, result: Make) -> None:
    whole = json.dumps(json.dumps([{"title": "One", "link": A, "content": "x"}, {"title": "Two", "link": B}]))
    for end in range(whole.index("Two"), whole.index("Two") + 12):
        assert decode_text(whole[:end]).values[0][0]["link"] == A
        assert decode_text(whole[:end]).truncated
    assert not decode_texts([whole[:40], whole[40:]]).truncated
    assert decode_texts([whole[:40], whole[40:]]).values == decode_text(whole).values


def test_rows_without_addresses_are_never_duplicates(context: ObserverContext, result: Make) -> None:
    place = {"title": "Two Ovens", "address": "2 Mill Lane", "rating": 4.1, "phone": "555-0101"}
    rows = [place, place | {"title": "Three Ovens"}, {"title": "One", "website": A}]
    pages_found(context, result("mcp__p__google_maps_search", {"local_results": rows}, "toolu_1"))
    (again,) = pages_found(
        context, result("mcp__p__google_maps_search", {"local_results": rows[1:]}, "toolu_2")
    )
    assert [row.get("duplicate") for row in again["results"]] == [None, True]
    assert (again["duplicates"], again["url_count"]) == (1, 1)


SHAPES = json.loads(Path(__file__).with_name("shapes.json").read_text(encoding="utf-8"))


def test_shapes_of_unknown_services_give_their_rows_and_other_lists_none(tmp_path: Path) -> None:
    """Services invented for the test; a shape with `missed` rows is read in part, or not at all."""
    wrong = {}
    for number, (name, shape) in enumerate(SHAPES.items()):
        workspace = Workspace.create(tmp_path / f"{number}", NOON)
        result = make_result(shape["tool"], shape["answer"])
        rows: list[list[Any]] = []
        if SearchResults().wants(result.call):
            outcome = SearchResults().observe(result, ObserverContext(workspace, now=lambda: NOON))
            paths = [saved.path for saved in outcome.artifacts if saved.kind == "search_results"]
            pages = [json.loads(workspace.read_artifact(path)) for path in paths]
            rows = [[row["title"], row["url"]] for page in pages for row in page["results"]]
        workspace.close()
        if rows != [row for row in shape["rows"] if row not in shape.get("missed", [])]:
            wrong[name] = rows
    assert wrong == {}
