"""Results written as text by servers, agent frameworks and models: the same three rows in each format."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from core.observation import ToolCall, ToolResult
from observers.base import ObserverContext
from observers.decoding.decode import decode_text
from observers.search.detect import recognise
from observers.search.rows import normalise
from observers.search.text.sections import sections_in_text
from observers.search_results import SearchResults
from tests.observers.conftest import NOON

Make = Callable[..., ToolResult]
ROWS = (
    (
        "Harbour bridges: a survey",
        "https://bridges.example/survey?id=1",
        "How 40 bridges, old and new, were built.",
    ),
    ("Tide tables (2026)", "https://tides.example/tables_(2026)", "High water at noon; low water at six."),
    ("The Long Quay reopens", "https://quay.example/news/long-quay", "It reopened on Monday."),
)
SEARCH = "mcp__x__web_search"


def rows_of(text: str, tool: str = SEARCH) -> list[tuple[Any, ...]]:
    call = ToolCall(tool_use_id="t", name=tool, input={"query": "q"})
    return [
        (row["title"], row["url"], row["snippet"])
        for page in recognise(call, decode_text(text))
        for row in normalise(page.items, page.kind, NOON).rows
    ]


def each(form: str, between: str = "\n\n", *, before: str = "", after: str = "") -> str:
    """The text of all rows: `n`, `t`, `u`, `s` and `h` stand for number, title, address, snippet and host."""
    filled = (
        form.format(n=n, t=title, u=url, s=snippet, h=url.split("/")[2], q=json.dumps)
        for n, (title, url, snippet) in enumerate(ROWS, start=1)
    )
    return before + between.join(filled) + after


def quoted(form: str, between: str = "\n", *, before: str = "", after: str = "") -> str:
    """The same with title and snippet in quotes."""
    lines = (
        form.format(n=n, t=json.dumps(t), u=u, s=json.dumps(s)) for n, (t, u, s) in enumerate(ROWS, start=1)
    )
    return before + between.join(lines) + after


LABELS = {
    "Chinese": ("标题：", "链接：", "摘要："),
    "Chinese, traditional": ("標題: ", "鏈接: ", "內容: "),
    "Japanese": ("タイトル：", "URL：", "概要："),
    "Korean": ("제목: ", "링크: ", "요약: "),
    "German": ("Titel: ", "Link: ", "Zusammenfassung: "),
    "French": ("Titre : ", "Lien : ", "Résumé : "),
    "Spanish": ("Título: ", "Enlace: ", "Resumen: "),
    "Portuguese": ("Título: ", "Ligação: ", "Resumo: "),
    "Italian": ("Titolo: ", "Collegamento: ", "Sommario: "),
    "Russian": ("Заголовок: ", "Ссылка: ", "Описание: "),
    "Polish": ("Tytuł: ", "Odnośnik: ", "Opis: "),
    "Turkish": ("Başlık: ", "Bağlantı: ", "Özet: "),
    "Vietnamese": ("Tiêu đề: ", "Liên kết: ", "Tóm tắt: "),
    "Arabic": ("العنوان: ", "الرابط: ", "الملخص: "),
    "Indonesian": ("Judul: ", "Link: ", "Ringkasan: "),
}
FORMATS = {
    **{f"labels in {name}": each(f"{t}{{t}}\n{u}{{u}}\n{s}{{s}}") for name, (t, u, s) in LABELS.items()},
    "labels below numbered titles": each("{n}. {t}\n   链接: {u}\n   内容: {s}", before="搜索结果:\n"),
    "numbers in lenticular brackets": each("【{n}】{t}\n链接：{u}\n摘要：{s}\n发布时间：2026-01-0{n}"),
    "ideographic numbers": each("{n}、{t}\n链接：{u}\n摘要：{s}", "\n"),
    "bold labels": each("**标题**：{t}\n**链接**：{u}\n**摘要**：{s}"),
    "an unknown label of an address": each("- Titel: {t}\n  Weblink: {u}\n  Auszug: {s}", "\n"),
    "one line, bars": each("Title: {t} | URL: {u} | Snippet: {s}", "\n"),
    "one line, spaces": each("{n}. Title: {t} URL: {u} Content: {s}", "\n"),
    "one line, commas": each("Title: {t}, Link: {u}, Description: {s}", "\n"),
    "one line, semicolons": each("- title: {t}; url: {u}; snippet: {s}", "\n"),
    "one line, full-width": each("标题：{t}，链接：{u} 摘要：{s}", "\n"),
    "one line without labels": each("{n}. {t} | {u} | {s}", "\n"),
    "one line with dashes": each("{n}. {t} - {u} - {s}", "\n"),
    "one line with a link": each("* [{t}]({u}) — {s}", "\n"),
    "comma-separated values": each('"{t}",{u},"{s}"', "\n", before="title,url,snippet\n"),
    "comma-separated values in code": each(
        '{n},"{t}",{u},"{s}"',
        "\n",
        before="Found 3:\n\n```csv\nrank,title,link,description\n",
        after="\n```\nDone.",
    ),
    "comma-separated values over lines": each(
        '"{t}","{u}","Of the harbour.\n{s}"', "\n", before="title,url,snippet\n"
    ),
    "semicolon-separated values": each('{t};{u};"{s}"', "\n", before="Titel;Link;Beschreibung\n"),
    "tab-separated values": each("{t}\t{u}\t{s}", "\n", before="title\turl\tsnippet\n"),
    "bar-separated values": each("{t}|{u}|{s}", "\n", before="title|url|snippet\n"),
    "a table of links": each("| [{t}]({u}) | {s} |", "\n", before="| Result | Summary |\n|:--|--:|\n"),
    "TOON, a table": quoted('  {t},"{u}",{s}', before="results[3]{title,url,snippet}:\n"),
    "TOON, with other fields": quoted(
        '  {t},"{u}",{s}', before="query: q\nresults[3]{title,url,snippet}:\n", after="\ntotal: 3"
    ),
    "TOON, bars": quoted("  {t}|{u}|{s}", before="results[3|]{title|url|snippet}:\n"),
    "TOON, tabs": quoted("  {t}\t{u}\t{s}", before="results[3\t]{title\turl\tsnippet}:\n"),
    "TOON, a list": quoted(
        "    - title: {t}\n      url: {u}\n      snippet: {s}\n      tags[2]: a,b",
        before="data:\n  results[3]:\n",
    ),
    "TOON, by key": quoted("  r{n}: {t},{u},{s}", before="results[3:]{title,url,snippet}:\n"),
    "TOON, groups of fields": quoted("  {n},{t},{u},{s}", before="results[3]{id,page{title,url,snippet}}:\n"),
    "TOON in code": quoted(
        "  {t},{u},{s}", before="Found 3.\n\n```toon\n[3]{title,url,snippet}:\n", after="\n```"
    ),
    "YAML": each('  - title: "{t}"\n    url: {u}\n    snippet: {s}', "\n", before="results:\n"),
    "objects of Python": "[" + each("Result(title='{t}', url='{u}', snippet='{s}', score=None)", ", ") + "]",
    "documents of LangChain": "["
    + each("Document(metadata={{'url': '{u}', 'title': '{t}'}}, page_content='{s}')", ", ")
    + "]",
    "objects of Python by line": each("{{'title': '{t}', 'href': '{u}', 'body': '{s}'}}", "\n"),
    "HTML, a list": "<ul>" + each('<li><a href="{u}">{t}</a><p>{s}</p></li>', "\n") + "</ul>",
    "HTML, a numbered list": "<h2>Results</h2><ol>"
    + each('<li><a href="{u}">{t}</a> - {s}</li>', "")
    + "</ol>",
    "HTML, divisions": each(
        '<div class="result"><h3><a href="{u}">{t}</a></h3><p>{s}</p><cite>{h}</cite></div>', ""
    ),
    "HTML, headings": each('<h3><a href="{u}">{t}</a></h3>\n<p>{s}</p>', "\n"),
    "HTML, line breaks": each('<p><b><a href="{u}">{t}</a></b><br>{s}</p>', "\n"),
    "HTML, a table": "<table><tr><th>T</th><th>Snippet</th></tr>"
    + each('<tr><td><a href="{u}">{t}</a></td><td>{s}</td></tr>', "")
    + "</table>",
    "elements with attributes": each('<result index="{n}" title="{t}" url="{u}">{s}</result>', "\n"),
    "sources with attributes": each('<source id="{n}" name="{t}" url="{u}">{s}</source>', "\n"),
    "documents with a source": each(
        "<document index='{n}'>\n<source>{u}</source>\n<title>{t}</title>\n<document_content>{s}</document_content>\n"
        "</document>",
        "\n",
    ),
    "numbered headings": each("## Result {n}: {t}\n**URL:** {u}\n**Summary:** {s}"),
    "numbers in rules": each("--- SOURCE {n}: {t} ---\nURL: {u}\n\nSUMMARY:\n{s}\n\n" + "-" * 40),
    "bold title, address in italics": each("**{t}**\n*{u}*\n{s}"),
    "bold title with its address": each("{n}. **{t}** ({u})\n   {s}", "\n"),
    "title with the link of its host": each("{n}. {t} — [{h}]({u})\n   {s}", "\n"),
    "text before the address": each("{n}. **{t}**\n   {s}\n   🔗 {u}"),
    "a link to read more": each("### {t}\n{s}\n[Read more]({u})"),
    "text apart from the fields": each("### {t}\n\n**Link:** <{u}>\n\n{s}\n"),
    "text apart from the labels": each("--- Result {n} ---\nTitle: {t}\nURL: {u}\n\n{s}\n"),
    "fields between link and text": each(
        "{n}. [{t}]({u})\nDate published: Jan 2, 2026\nSource: Daily\n\n{s}"
    ),
    "other fields before the text": each("{n}. {t}\n   Citation ID: [N{n}]\n   URL: {u}\n   Snippet: {s}"),
    "an address above the labels": each("[{n}] {u}\nTitle: {t}\nSnippet: {s}"),
    "an address that ends a paragraph": each("📰 **{t}**\n📅 2026-01-0{n}\n📝 {s}\n🔗 {u}"),
    "HTML, a table of addresses": "<table><tr><th>Title</th><th>URL</th><th>Snippet</th></tr>"
    + each("<tr><td>{t}</td><td>{u}</td><td>{s}</td></tr>", "")
    + "</table>",
    "symbols as marks": each("📄 {t}\n🔗 {u}\n📝 {s}"),
    "announced on the line of the first": each(
        "Title: {t}\nLink: {u}\nSnippet: {s}\n---", "\n", before="\nSearch results: "
    ),
    "several documents": each('```json\n{{"title": "{t}", "url": "{u}", "snippet": "{s}"}}\n```'),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_rows_of_each_format(name: str) -> None:
    found = rows_of(FORMATS[name])
    assert [(title, url) for title, url, _ in found] == [(title, url) for title, url, _ in ROWS]
    for (*_, text), (*_, snippet) in zip(found, ROWS, strict=True):
        assert snippet in " ".join(text.split())


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
        ("[A]({0})\n\nIn this guide you will learn:\n\nhow to bake.", ["In this guide you will learn:"]),
        ("### [A]({0})\n\nHow it works:\n- Mix.\n- Bake.", ["How it works:"]),
        ("[A]({0})\nIt bakes.\n\nSee also:\n\n[B]({1})\nIt mixes.", ["It bakes.", "It mixes."]),
        ("[A]({0})\n\nSee also:\n\n[B]({1})\n\nIt mixes.", [None, "It mixes."]),
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


def test_what_announces_an_address_is_no_title() -> None:
    text = f"It reopened on Monday.\n\nRead more at:\n{ROWS[0][1]}\n\nSee also:\n{ROWS[1][1]}"
    assert rows_of(text) == [(None, ROWS[0][1], None), (None, ROWS[1][1], None)]


NO_ROWS = {
    "prose": "I looked at https://bridges.example/survey and it says so. See also https://quay.example/ for more.",
    "sentences with addresses": "Built in 1932 (https://bridges.example/a). It reopened (https://quay.example/b).",
    "code": "```python\nurl = 'https://api.example/v1'\nrequests.get(url, title='x')\n```\n",
    "a log": "2026-01-02 GET https://a.example/x 200\n2026-01-02 GET https://a.example/y 404\n",
    "a numbered log": "[1] INFO fetching https://a.example/x\n[2] INFO fetching https://a.example/y\n",
    "other values": "name,homepage,stars\nfoo,https://foo.example/,3\nbar,https://bar.example/,4\n",
    "a page": "<html><body><ul><li><a href='https://a.example/'>Home</a></li></ul></body></html>",
    "other TOON": "users[2]{id,name}:\n  1,Ada\n  2,Bob\n",
    "other objects": "Config(url='https://a.example/', name='x')",
    "labels in a sentence": "The snippet says title: one, and url: https://a.example/ is where it is.",
}


@pytest.mark.parametrize("name", NO_ROWS)
def test_a_text_that_has_addresses_and_no_results(name: str) -> None:
    assert rows_of(NO_ROWS[name]) == []


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
    return "\n".join(
        (
            *parts,
            "\nAll three are harbours.\n\nREMINDER: You MUST include the sources.",
        )
    )


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


def test_a_table_that_is_cut_off_keeps_its_rows() -> None:
    text = FORMATS["TOON, a table"]
    for end in range(text.index("tides"), len(text)):
        decoded = decode_text(text[:end])
        assert [row[1] for row in rows_of(text[:end])][:1] == [ROWS[0][1]]
        assert decoded.truncated or len(decoded.values[0]["results"]) == 3


HOSTILE = (
    *"*[]()<>|:：-=#`\"'\\{},;. ",
    *(
        "[a",
        "](",
        "a](b",
        "https://",
        ": ",
        "Title: ",
        "url: https://a.example/ title: x ",
        "标题：",
        "url,title",
    ),
    *(
        "<item ",
        "<item>",
        "</item>",
        "<source url='x'>",
        "<a href=x",
        "<item><![CDATA[",
        "1. a (https://a/(",
        "[^",
    ),
    *(
        "results: ",
        "【1】",
        "=== ",
        "a[b](",
        '"a,',
        "a[1]{",
        "- [1]:",
        '[1]: https://a.example/ "',
        "{'a",
        '["',
    ),
    *('{"a":"...\n', "f(a="),
)


@pytest.mark.parametrize("length", [40, 2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_texts_of_nothing_but_marks_are_read(length: int) -> None:
    for part in HOSTILE:
        line = (part * (length // len(part) + 1))[:length]
        text = f"{line}\n" * (2_000 // length) or line
        for begin in ("", "https://a.example/ </a \n", "title,url\nhttps://a.example/\n"):
            sections_in_text(begin + text)
        decode_text(text)
