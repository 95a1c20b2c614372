from __future__ import annotations

import pytest

from tests.core.cases import cases_of
from ua_tui.core.toolkit.extract import MAX_ARTICLE_HTML, extract_html
from ua_tui.core.toolkit.html_text import separate, without_scripts
from ua_tui.observers.search.sanitise import plain_text
from ua_tui.tui.viewers.safe_html import to_markdown

CASES = cases_of(__file__)

APART = CASES["apart"]
TOGETHER = CASES["together"]
LONG = "<p>" + "The text of the article is long enough to be found. " * 8 + "</p>"


def _text(markdown: str) -> str:
    for mark in ("*", "<sub>", "</sub>"):
        markdown = markdown.replace(mark, "")
    return markdown.replace("₂", "2")


def test_what_a_browser_shows_apart_is_never_joined() -> None:
    joined = ("haveDagny", "have10", "20264", "have.Dagny", "\u241f")
    for html in APART:
        page = f"<html><body><article><h1>T</h1>{LONG}{html}{LONG}</article></body></html>"
        for text in (
            to_markdown(None, html),
            plain_text(html),
            extract_html(page, "https://a.example/").text,
        ):
            assert [each for each in joined if each in text] == [], html


def test_parts_of_a_word_stay_together() -> None:
    for html, text in TOGETHER:
        page = f"<html><body><article><h1>T</h1>{LONG}{html}{LONG}</article></body></html>"
        assert _text(to_markdown(None, html)) == plain_text(html) == text
        assert text in _text(extract_html(page, "https://a.example/").text)


INDICES = CASES["indices"]


@pytest.mark.parametrize(("html", "text"), INDICES)
def test_indices_are_characters_and_code_elements_stay_apart(html: str, text: str) -> None:
    article = f"<html><body><article><h1>T</h1>{LONG}{html}{LONG}</article></body></html>"
    # Too large for the extraction of an article.
    page = f"{html}<nav>{'x' * MAX_ARTICLE_HTML}</nav>"
    for markdown in (to_markdown(None, html), extract_html(page, "https://a.example/").text.strip()):
        assert markdown == text
    assert text in extract_html(article, "https://a.example/").text


def test_code_and_white_space_stay_as_they_are() -> None:
    code = "<pre><span>a.</span><span>B</span><br>c</pre> <p>x</p> <p>y</p>"
    for text in (code, "no tags.At all < 3 and > 2", ""):
        assert separate(text) == text
    assert to_markdown(None, "<b>we have.</b><em>Dagny</em>") == "**we have.** *Dagny*"
    assert separate("x<br/>y<td>z") == "x<br/> y<td> z"
    unended = "<script><svg><!--<style>" * 20_000
    assert without_scripts(unended) == unended


def test_what_is_no_text_is_removed() -> None:
    for html, left in CASES["what_is_no_text_is_removed"]:
        assert without_scripts(html).replace("<svg/>", "") == left
