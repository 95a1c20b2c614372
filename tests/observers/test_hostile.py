from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.observation import ToolCall, ToolResult
from core.storage.workspace import Workspace
from observers.base import ObserverContext
from observers.decoding import decode
from observers.decoding.decode import decode_text
from observers.search.detect import recognise
from observers.search.rows import normalise
from observers.search_results import SearchResults

Make = Callable[..., ToolResult]
SEARCH = "mcp__any__web_search"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"


def artifacts_in(workspace: Workspace) -> list[dict[str, Any]]:
    paths = sorted((workspace.path / "search_results").glob("*.json"))
    return [json.loads(path.read_bytes(), parse_constant=pytest.fail) for path in paths]


def test_fifty_results_of_one_second_have_fifty_files(context: ObserverContext, result: Make) -> None:
    prefix = "https://long.example/" + "x" * 60
    odd = ["https://..", "https://CON/", "https://a.example/\n/x", "https://😀.example/"]
    for number in range(50):
        urls = [f"{prefix}{number}-{n}" for n in range(20)] + odd
        SearchResults().observe(
            result(SEARCH, {"results": [{"title": u, "url": u} for u in urls]}, f"t{number}"), context
        )
    saved = artifacts_in(context.workspace)
    assert len(saved) == 50
    assert {len(artifact["results"]) + artifact["rejected"] for artifact in saved} == {24}
    lines = context.workspace.read("search_results/urls.txt").decode().splitlines()
    assert len(lines) == len(set(lines)) == 50 * 20 + 3


ODD = [
    ('{"news_results": [{"title": "T", "link": "https://a.example/", "s": NaN, "r": Infinity, "n": 1e999}]}', 1, 0),
    ('{"news_results": [{"title": "T", "link": "https://a.example/", "link": "https://b.example/"}]}', 1, 0),
    ('{"news_results": [{"title": "T", "link": "https://a.example/", "id": 12345678901234567890}]}', 1, 0),
    ('{"news_results": [{"title": "T", "link": "https://a.example/", "n": ' + "9" * 5000 + "}]}", 1, 0),
    ('\ufeff{"news_results": [{"title": "T", "link": "https://a.example/"}]} trailing text', 1, 0),
    ('{"news_results": [{"title": "T\\ud800", "link": "https://a.example/", "x": "\\udfff"}]}', 1, 0),
    (
        '{"news_results": [{"title": "T", "link": 7}, {"title": "T"}, {"link": []}, null, 3, "s", '
        '{"title": "T", "link": "https://a.example/"}]}', 1, 6
    ),
    ('{"news_results": ["a", "b"]}', 0, 2),
    ('{"news_results": null, "organic_results": [{"title": "T", "link": "https://a.example/"}]}', 1, 0),
    ('{"news_results": {"results": [{"title": "T", "url": "https://a.example/"}]}}', 1, 0),
    (
        '{"news_results": [{"title": ["T"], "link": "https://a.example/", "source": [1], "date": {}, "snippet": 5, '
        '"position": "x"}]}', 1, 0
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rows", "rejected"), ODD)
def test_odd_values_never_lose_their_siblings(
    context: ObserverContext, result: Make, text: str, rows: int, rejected: int
) -> None:
    SearchResults().observe(result("mcp__a__search_news", text), context)
    (artifact,) = artifacts_in(context.workspace)
    assert len(artifact["results"]) == rows
    assert artifact["rejected"] == rejected
    if "12345678901234567890" in text:
        assert artifact["results"][0]["extra"]["id"] == 12345678901234567890


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 5_000, "[" + "1," * 500_000 + "1]"],
    ids=["lists", "objects", "long"],
)
def test_what_cannot_be_read_is_skipped_with_a_reason(
    context: ObserverContext, result: Make, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "MAX_TEXT", 1_000_000)
    outcome = SearchResults().observe(result("mcp__other__tool", text), context)
    assert outcome.artifacts == ()
    # Which of the reasons it is depends on how deep the interpreter's own parser goes.
    assert any(reason in (outcome.note or "") for reason in ("nested", "too large", "cannot be read"))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.just("https://a.example/1"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "results",
                    "title",
                    "url",
                    "link",
                    "data",
                    "response",
                    "tool_slug",
                    "highlight",
                    "stories",
                    "answer",
                    "error",
                    "news_results",
                    "date",
                    "source",
                    "x",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_any_json_is_survived(context_free: Any) -> None:
    call = ToolCall(tool_use_id="t", name=MULTI)
    from tests.observers.conftest import NOON

    for page in recognise(call, decode_text(json.dumps(context_free))):
        for found in normalise(page.items, page.kind, NOON).rows:
            assert isinstance(found["url"], str)
            json.dumps(found, allow_nan=False)
