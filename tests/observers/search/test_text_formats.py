"""Results written as text by servers, agent frameworks and models: the same three rows in each format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.observers.conftest import NOON
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.decoding.decode import decode_text
from ua_tui.observers.search.lists import recognise
from ua_tui.observers.search.text.blocks import sections_in_text
from ua_tui.observers.search_results import SearchResults

Make = Callable[..., ToolResult]
ROWS = (
    ("Harbour bridges: a survey", "https://bridges.example/survey?id=1", "How 40 bridges, old and new, were built."),
    ("Tide tables (2026)", "https://tides.example/tables_(2026)", "High water at noon; low water at six."),
    ("The Long Quay reopens", "https://quay.example/news/long-quay", "It reopened on Monday."),
)  # fmt: skip
SEARCH = "mcp__x__web_search"


def rows_of(text: str, tool: str = SEARCH) -> list[tuple[Any, ...]]:
    call = ToolCall(tool_use_id="t", name=tool, input={"query": "q"})
    return [
        (row["title"], row["url"], row["snippet"])
        for page in recognise(call, decode_text(text), NOON).pages
        for row in page.rows
    ]


def each(form: str, between: str = "\n\n", before: str = "", after: str = "", *, quoted: bool = False) -> str:
    """The text of all rows: `n`, `t`, `u`, `s` and `h` stand for number, title, address, snippet and host."""
    show = json.dumps if quoted else str
    filled = (
        form.format(n=n, t=show(title), u=url, s=show(snippet), h=url.split("/")[2])
        for n, (title, url, snippet) in enumerate(ROWS, start=1)
    )
    return before + between.join(filled) + after


FORMATS = {
    name: each(form) if isinstance(form, str) else each(**form)
    for name, form in json.loads(Path(__file__).with_name("formats.json").read_text(encoding="utf-8")).items()
}


def test_each_format_gives_its_rows() -> None:
    expected = [(title, url) for title, url, _ in ROWS]
    for name, text in FORMATS.items():
        found = rows_of(text)
        assert [(title, url) for title, url, _ in found] == expected, name
        for (*_, said), (*_, snippet) in zip(found, ROWS, strict=True):
            assert snippet in " ".join((said or "").split()), name


def test_labelled_results_without_an_address() -> None:
    text = each("Published: 2026-01-0{n}\nTitle: {t}\nAuthors: N. Poe\nPMID: 1234567{n}\nSummary: {s}")
    assert rows_of(text, "mcp__papers__search_pubmed") == [
        (title, f"https://pubmed.ncbi.nlm.nih.gov/1234567{n}/", snippet)
        for n, (title, _, snippet) in enumerate(ROWS, start=1)
    ]
    text = each("Title: {t}\nSummary: {s}", "\n\n---\n\n")
    assert rows_of(text) == [(title, None, snippet) for title, _, snippet in ROWS]
    assert rows_of(text, "mcp__x__thing") == []
    assert rows_of("Title: Only one\nSummary: This is how a page begins.\n\nIt goes on.") == []


@pytest.mark.parametrize(
    ("text", "snippets"),
    [
        ("[A]({0})\n\nIn this guide you will learn:\n\nhow to bake.", [None]),
        ("### [A]({0})\nIt bakes.\n\nHow it works:\n- Mix.\n- Bake.", ["It bakes."]),
        ("[A]({0})\nIt bakes.\n\nSee also:\n\n[B]({1})\nIt mixes.", ["It bakes.", "It mixes."]),
        ("[A]({0})\n\nSee also:\n\n[B]({1})\nIt mixes.", [None, "It mixes."]),
        ("Result 1:\n[A]({0})\nIt bakes.\nResult 2:\n[B]({1})\nIt mixes.", ["It bakes.", "It mixes."]),
        (
            "Result 1:\nTitle: A\nURL: {0}\nContent: It bakes.\n**Result 2:**\nTitle: B\nURL: {1}\nContent: It mixes.",
            ["It bakes.", "It mixes."],
        ),
    ],
)  # fmt: skip
def test_a_line_that_announces_something(text: str, snippets: list[str | None]) -> None:
    found = rows_of(text.format(ROWS[0][1], ROWS[1][1]))
    assert [snippet for _, _, snippet in found] == snippets


@pytest.mark.parametrize(
    "form",
    [
        "<result><title>A</title><url>{}</url></result>",
        "<item><title>A</title><link>{}</link></item>",
        '<entry><title>A</title><link href="{}"/></entry>',
    ],
)
def test_addresses_in_elements_have_no_entities(form: str) -> None:
    (row,) = rows_of(form.format("https://a.example/?a=1&amp;b=2&copy=3"))
    assert row[1] == "https://a.example/?a=1&b=2&copy=3"


@pytest.mark.parametrize("text", ["<![CDATA[A &amp; <b>B</b>]]>", "A &amp;amp; &lt;b&gt;B&lt;/b&gt;"])
def test_html_in_elements_is_read(text: str) -> None:
    item = f"<item><title>T</title><link>{ROWS[0][1]}</link><description>{text}</description></item>"
    assert rows_of(item) == [("T", ROWS[0][1], "A & B")]


def test_what_announces_an_address_is_no_title() -> None:
    text = f"It reopened on Monday.\n\nRead more at:\n{ROWS[0][1]}\n\nSee also:\n{ROWS[1][1]}"
    assert rows_of(text) == [(None, ROWS[0][1], None), (None, ROWS[1][1], None)]


NO_ROWS = json.loads(Path(__file__).with_name("no_rows.json").read_text(encoding="utf-8"))


def test_texts_that_have_addresses_and_no_results() -> None:
    assert {name: rows for name, text in NO_ROWS.items() if (rows := rows_of(text))} == {}


def z_ai(end: Callable[[str, str], int]) -> str:
    """A web search of Claude Code on Z.AI: several searches, of each a list that is cut off at `end`."""
    parts = ['Web search results for query: "harbours"\n']
    for number, (title, url, snippet) in enumerate(ROWS, start=1):
        first = {"title": title, "link": url, "content": f"{snippet} And more of it", "refer": "ref_1"}
        other = {"title": "Another", "link": "https://other.example/page", "content": "c"}
        whole = json.dumps([{"text": [first, other], "type": "text"}])
        parts.append(
            f"**🌐 Z.ai Built-in Tool: web_search_prime**\n\n**Input:**\n```json\n"
            f'{{"search_query":"harbours {number}"}}\n```\n\n*Executing on server...*\n\n**Output:**\n'
            f"**web_search_prime_result_summary:** {whole[: end(whole, snippet)]}...\n  "
            "Once more: **🌐 Z.ai Built-in Tool: webReader**"
        )
    return "\n".join((*parts, "\nAll three are harbours.\n\nREMINDER: You MUST include the sources."))


CUTS: dict[str, Callable[[str, str], int]] = {
    "in a text": lambda whole, snippet: whole.index(snippet) + len(snippet) + 4,
    "in an escape": lambda whole, snippet: whole.index(snippet) + len(snippet),
    "in a key": lambda whole, _: whole.index("refer") + 3,
    "in a value": lambda whole, _: whole.index("ref_1") + 3,
    "before a row": lambda whole, _: whole.index('{"title": "Another"') - 1,
    "in the key of a row": lambda whole, _: whole.index('"Another"') - 5,
    "in an address": lambda whole, _: whole.index("other.example") + 6,
}


@pytest.mark.parametrize("cut", CUTS)
def test_each_of_several_lists_that_are_cut_off(context: ObserverContext, result: Make, cut: str) -> None:
    text = z_ai(CUTS[cut])
    if cut == "in an escape":
        text = text.replace("...\n  ", "\\...\n  ")
    outcome = SearchResults().observe(result("WebSearch", text), context)
    artifacts = [json.loads(context.workspace.read(saved.path)) for saved in outcome.artifacts]
    assert [artifact.get("answer") for artifact in artifacts] == [None, None, "All three are harbours."]
    assert [artifact["query"] for artifact in artifacts] == [f"harbours {number}" for number in (1, 2, 3)]
    found = [artifact["results"][0] for artifact in artifacts]
    assert [(row["title"], row["url"]) for row in found] == [(title, url) for title, url, _ in ROWS]
    assert all(row["snippet"].startswith(snippet) for row, (*_, snippet) in zip(found, ROWS, strict=True))
    assert not any("Once more" in row["snippet"] for row in found)
    assert all(artifact["truncated"] for artifact in artifacts)
    assert not any(row["url"].startswith("https://other") for a in artifacts for row in a["results"])


HOSTILE = (
    *"*[]()<>|:：-=#`\"'\\{},;. ", "[a", "](", "a](b", "https://", ": ", "Title: ", "标题：", "url,title",
    "url: https://a.example/ title: x ", "<item ", "<item>", "</item>", "<source url='x'>", "<a href=x",
    "1. a (https://a/(", "<item><![CDATA[", "[^", "results: ", "【1】", "=== ", "a[b](", '"a,', "a[1]{", "- [1]:",
    '[1]: https://a.example/ "', "{'a", '["', '{"a":"...\n', "f(a=",
)  # fmt: skip


@pytest.mark.parametrize("length", [40, 2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_texts_of_nothing_but_marks_are_read(length: int) -> None:
    for part in HOSTILE:
        line = (part * (length // len(part) + 1))[:length]
        text = f"{line}\n" * (2_000 // length) or line
        for begin in ("", "https://a.example/ </a \n", "title,url\nhttps://a.example/\n"):
            sections_in_text(begin + text)
        decode_text(text)
