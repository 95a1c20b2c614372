from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.observers.evidence.reading.reading import blocks, links, page, texts
from tests.paths import PROJECT

DOCUMENTS = [*sorted(PROJECT.glob("docs/*.md")), PROJECT / "README.md", PROJECT / "CONTRIBUTING.md"]
IN_TEXT = """
a b 5 word *em* **strong** _it_ __x__ `c` ~~s~~ [t](u) [t](<u v> 't') \\* &amp; 2*3 a_b * _ ** ` [ ] ( ) ! ![p](q) < >
https://a.de <br> <b>h</b>
"""
BLOCKS = """
a|b c|# h|## h #|- i|* i|1. n|2. n|   a|    c|> q|>|> - x|```|---|===|<div>|</div>|<!-- x -->|***|+ p|  - y
"""
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n"
WORDS = st.sampled_from([*IN_TEXT.split(), "x  \n", "\n", "\n\n", "\\\n"])
LINES = st.sampled_from([*BLOCKS.strip("\n").split("|"), "", "\tt", "| a | b |", TABLE])


def _reference(text: str) -> list[tuple[str, str]]:
    """The blocks of a text as markdown-it has them."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return blocks(parser.render(text))


def _words(found: list[tuple[str, str]]) -> list[str]:
    return " ".join(text for _, text in found).split()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_are_read_as_a_markdown_parser_reads_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert blocks(text, "a.md") == _reference(text)


# markdown-it keeps the white space at the beginning of a line in code; CommonMark does not.
@given(st.lists(WORDS, max_size=20).map(lambda words: " ".join(words).replace("\n ", "\n")))
def test_the_text_of_a_paragraph_is_read_as_a_markdown_parser_reads_it(text: str) -> None:
    assert _words(blocks(f"x {text}", "a.md")) == _words(_reference(f"x {text}"))


@given(st.lists(LINES, max_size=8).map("\n".join))
def test_blocks_have_the_words_that_a_markdown_parser_reads(text: str) -> None:
    assert _words(blocks(text, "a.md")) == _words(_reference(text))


def test_blocks() -> None:
    source = """---
title: no
---

# One

A **bold** word
on two lines

> quoted
> words

1. first
2. second

   more of it

- [x](https://a.de) item

```python
code = 5
```

Two
---

| a | b |
|---|--:|
| 1 | 2 |
Source: there
"""
    assert blocks(source, "a.md") == [
        ("heading", "One"), ("paragraph", "A bold word on two lines"), ("quote", "quoted words"),
        ("item", "first"), ("item", "second"), ("item", "more of it"), ("item", "x item"),
        ("code", "code = 5"), ("heading", "Two"), ("cell", "a"), ("cell", "b"), ("cell", "1"), ("cell", "2"),
        ("paragraph", "Source: there"),
    ]  # fmt: skip


def test_links_of_all_forms() -> None:
    source = """[a](https://a.de/x_(y) "t"), [b][r], [c][], [d], <https://e.de>, https://f.de/g_h_i., www.j.de/k,
![pic](https://no.de) [![pic](no.png)l](https://l.de), `[m](no.md)` [n](<o p.json>) <a href="q.html">q</a>

[r]: https://r.de
[c]: <https://c.de> 'title'
[D]: ../d.json
"""
    assert links(source, "a.md") == [
        ("a", "https://a.de/x_(y)"), ("b", "https://r.de"), ("c", "https://c.de"), ("d", "../d.json"),
        ("https://e.de", "https://e.de"), ("https://f.de/g_h_i", "https://f.de/g_h_i"),
        ("www.j.de/k", "https://www.j.de/k"), ("l", "https://l.de"), ("n", "o p.json"), ("q", "q.html"),
    ]  # fmt: skip


def test_addresses_in_code_are_no_links() -> None:
    source = (
        "`curl https://a.de` https://b.de\n\n| x |\n|---|\n| `a \\| https://c.de` |\n\n    https://d.de\n"
    )
    assert links(source, "a.md") == [("https://b.de", "https://b.de")]
    assert "a | https://c.de" in texts(source, "a.md")


def test_html_in_markdown() -> None:
    source = """<div hidden>
no 5

nor **this**
</div>

<table><tr><th>a</th></tr>

<tr><td>1</td></tr></table>

x <span hidden>n</span>y<!-- z -->"""
    report = page(source, "a.md")
    assert [(block.text, block.is_hidden, block.cell is not None) for block in report.blocks] == [
        ("no 5", True, False), ("nor this", True, False), ("a", False, True), ("1", False, True),
        ("x y", False, False), ("n", True, False),
    ]  # fmt: skip


def test_escaped_bars_are_in_a_cell() -> None:
    assert texts("| a\\|b | `c\\|d` |\n|---|---|\n| 1 | 2 |", "a.md")[:2] == ["a|b", "c|d"]
