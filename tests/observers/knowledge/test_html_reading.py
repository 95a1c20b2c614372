"""Tests of the reading of HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.observers.knowledge.html_reading import read_html


def test_the_text_of_a_page() -> None:
    texts = {
        "<p>One</p><p>two</p>": "One\n\ntwo", "<h2 class='x'>Part</h2>text": "## Part\n\ntext",
        "<ul><li>a<li>b</ul>": "a\nb",
        "<table><tr><th>Part<th>Price<tr><td>H7</td><td>24,900</td></tr></table>": "Part Price\nH7 24,900",
        "a <b>bo</b>ld&nbsp;word &lt;tag&gt; caf&eacute;": "a bold word <tag> café",
        "1 < 2 and 3 <4 a<": "1 < 2 and 3 <4 a<", "a<!-- hidden > --> b<!-- no end": "a b no end",
        "<script>if (a</b) x</script>seen<SCRIPT src='x'/>too<style>p{}</style>": "seentoo",
        "<script>never ends": "never ends", "<a title='x>y' href=x>word": "y' href=x>word",
        "line one\n   line two<br>three": "line one\nline two\nthree", "<p": "",
        "<p><span>we have.</span><span>Dagny</span> wor<b>d</b>s": "we have. Dagny words",
    }  # fmt: skip
    assert {source: read_html(source).text for source in texts} == texts


def test_the_title_and_the_links_of_a_page() -> None:
    page = read_html(
        "<TITLE>\n A &amp; B </TITLE><a class=x HREF='https://a.example/?x=1&amp;y=2'>a</a><a href=https://b.example/>b</a>"
        '<a href="javascript:x">c</a><a href="#d">d</a><a href="https://b.example/">e</a><a href=>f</a>'
    )
    assert page.title == "A & B"
    assert page.links == ("https://a.example/?x=1&y=2", "https://b.example/")
    assert page.text == "a b c d e f"


_TAGS = ["<p>", "<a", "href=", "<script>", "</script", "<title>", "<!--", "-->", "</"]


@given(st.lists(st.sampled_from([*_TAGS, "<", ">", "'", '"', "&", "&amp;", "\n", " ", "x"])).map("".join))
def test_damaged_pages_are_read(source: str) -> None:
    page = read_html(source)
    assert page.text == page.text.strip()
    assert "\n\n\n" not in page.text


@pytest.mark.slow
def test_a_long_page_of_one_piece_is_read() -> None:
    for piece in ("<", "<a ", "<!--", "<script>", "</", "<p", "&", "\n", "<title>", "<a href='"):
        read_html(piece * (500_000 // len(piece)))
