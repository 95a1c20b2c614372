from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.observers.conftest import NOON
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.corpus import Corpus
from ua_tui.observers.pages.reading import read_pages

Make = Callable[..., ToolResult]
ONE = "https://site1.example/story-1"
SCRAPE = "mcp__firecrawl__firecrawl_scrape"
NAMES = [
    "url", "data", "results", "markdown", "content", "metadata", "title", "author", "date", "error", "failed",
    "statusCode",
]  # fmt: skip
WORDS = [
    "Title: x", "URL Source: ", ONE, "\n", "\n\n", "# T\nURL: ", "Markdown Content:", "---\n", "content: ",
    "x", "{", "\x00",
]  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from([ONE, "[1]", '{"a": 1}']),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(VALUES.map(json.dumps) | st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_any_result_of_a_reader_is_survived(text: str) -> None:
    for asked in ([ONE], [ONE, "https://site2.example/"]):
        call = ToolCall(tool_use_id="t", name=SCRAPE, input={"urls": asked})
        for reading in read_pages(call, [text], None, NOON):
            assert all(page.url.startswith("http") and page.content.strip() for page in reading.pages)


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        ({"url": 7, "content": ["x"]}, 0),
        ({"url": "javascript:alert(1)", "content": "x"}, 0),
        ({"url": ONE, "text": "x", "title": "\x1b]0;t\x07\u202eT\x00", "author": "A\x1b[2J", "date": "9" * 9_000}, 1),
        ({"url": ONE, "content": "x\ud800", "title": ["a", {"b": 1}], "author": {"name": 1}}, 1),
        ('{"data": ' * 60 + f'{{"url": "{ONE}", "content": "deep"}}' + "}" * 60, 1),
        ("[" * 100_000, 0),
        ('{"a":' * 5_000, 0),
        (f'{{"url": "{ONE}", "content": "x", "n": NaN, "m": 1e999, "url": "{ONE}"}}', 1),
        ("\ufeff" + json.dumps({"url": ONE, "content": "x"}), 1),
        (f"URL: {ONE}\n\nx" + " \n" * 500_000 + "y", 1),
        ("Title: " * 50_000, 0),
        ("URL: \n" * 50_000, 0),
        ("# T\nURL: https://site1.example/\n" * 20_000, 1),
    ],
    ids=[*"abcd", "deep", "nested lists", "nested objects", "numbers", "mark", "blanks", "labels", "lines", "heads"],
)  # fmt: skip
def test_a_hostile_page_costs_nothing_else(
    page: Any, kept: int, context: ObserverContext, result: Make
) -> None:
    outcome = Corpus().observe(result(SCRAPE, page, urls=[ONE, "https://site1.example/"]), context)
    assert len(outcome.artifacts) == kept
    for saved in outcome.artifacts:
        article = json.loads(context.workspace.read_artifact(saved.path), parse_constant=pytest.fail)
        facts = f"{article['title']}{article['author']}"
        assert not any(mark in facts for mark in "\x00\x07\x1b\u202e")


def test_secrets_of_a_page_are_masked(result: Make, tmp_path: Any) -> None:
    context = ObserverContext(
        Workspace.create(tmp_path, NOON, Redactor(["hunter2hunter2"])), now=lambda: NOON
    )
    body = {
        "markdown": "It is hunter2hunter2.",
        "metadata": {"title": "hunter2hunter2", "author": "hunter2hunter2"},
    }
    call = result(SCRAPE, body, url=f"{ONE}/hunter2hunter2?key=hunter2hunter2")
    (saved,) = Corpus().observe(call, context).artifacts
    assert b"hunter2" not in context.workspace.read_artifact(saved.path)
    assert "hunter2" not in saved.path
