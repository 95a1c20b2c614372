from __future__ import annotations

import pytest

from core.toolkit.extract import MAX_ARTICLE_HTML, extract_html
from core.toolkit.html_text import separate, without_scripts
from observers.search.sanitise import plain_text, plain_texts
from tui.viewers.safe_html import to_markdown

APART = (
    "<div>we have.</div><div>Dagny</div>", "<section>we have.</section><section>Dagny</section>",
    "<table><tr><td>we have.</td><td>Dagny</td></tr></table>",
    "<table><tr><td><div>we have.</div><div>Dagny</div></td><td>x</td></tr></table>", "<p>we have.<br>Dagny</p>",
    "<ul><li>we have.</li><li>Dagny</li></ul>", "<ul><li><div>we have.</div><div>Dagny</div></li></ul>",
    "<blockquote>we have.<cite>Dagny</cite></blockquote>",
    "<blockquote>we have.</blockquote><address>Dagny</address>", "<dl><dt>we have.</dt><dd>Dagny</dd></dl>",
    "<p><span>we have.</span><span>Dagny</span></p>", "<p><span>we have</span><span>Dagny</span></p>",
    "<div><span class='author'>we have</span><time>10 Dagny</time></div>",
    "<div><time>10 March 2026</time><span>4 min read, Dagny</span></div>",
    "<p>we <a href='https://a.example/1'>have</a><a href='https://a.example/2'>Dagny</a></p>",
    "<a href='https://a.example/1'><h3>we have.</h3><span>Dagny</span></a>",
)  # fmt: skip
TOGETHER = (
    ("<p>wor<b>d</b>s</p>", "words"),
    ("<p>H<sub>2</sub>O</p>", "H2O"),
    ("<p><span>1</span><span>0</span></p>", "10"),
    ("<p><span>CO</span><span>2</span></p>", "CO2"),
    ("<p><span>T</span>he</p>", "The"),
    ("<p>un<em>believ</em>able</p>", "unbelievable"),
)
LONG = "<p>" + "The text of the article is long enough to be found. " * 8 + "</p>"


def _text(markdown: str) -> str:
    for mark in ("*", "<sub>", "</sub>"):
        markdown = markdown.replace(mark, "")
    return markdown.replace("₂", "2")


def test_what_a_browser_shows_apart_is_never_joined() -> None:
    joined = ("haveDagny", "have10", "20264", "have.Dagny", "\u241f")
    for html in APART:
        page = f"<html><body><article><h1>T</h1>{LONG}{html}{LONG}</article></body></html>"
        for text in (to_markdown(html), plain_text(html), extract_html(page, "https://a.example/").text):
            assert [each for each in joined if each in text] == [], html
    texts = list(APART)
    assert plain_texts(texts, one_line=False) == [plain_text(html) for html in texts]


def test_parts_of_a_word_stay_together() -> None:
    for html, text in TOGETHER:
        page = f"<html><body><article><h1>T</h1>{LONG}{html}{LONG}</article></body></html>"
        assert _text(to_markdown(html)) == plain_text(html) == text
        assert text in _text(extract_html(page, "https://a.example/").text)


INDICES = (
    ("<p>H<sub>2</sub>O, mc<SUP class='e'>2</SUP>, 10<sup>&minus;1</sup></p>", "H₂O, mc², 10⁻¹"),
    ("<p>x<sub>max</sub>, 2<sup>ab</sup>, x<sup>n+1</sup>, brand<sup>®</sup></p>", "x_max, 2^ab, xⁿ⁺¹, brand®"),
    ("<p><code>a</code><code>b</code> <kbd>c</kbd><code>d</code></p>", "`a` `b` `c` `d`"),
    ("<p>x<code>a</code>y <code>&lt;sub&gt;2&lt;/sub&gt;</code></p>", "x`a`y `<sub>2</sub>`"),
)  # fmt: skip


@pytest.mark.parametrize(("html", "text"), INDICES)
def test_indices_are_characters_and_code_elements_stay_apart(html: str, text: str) -> None:
    article = f"<html><body><article><h1>T</h1>{LONG}{html}{LONG}</article></body></html>"
    # Too large for the extraction of an article.
    page = f"{html}<nav>{'x' * MAX_ARTICLE_HTML}</nav>"
    for markdown in (to_markdown(html), extract_html(page, "https://a.example/").text.strip()):
        assert markdown == text
    assert text in extract_html(article, "https://a.example/").text


def test_code_and_white_space_stay_as_they_are() -> None:
    code = "<pre><span>a.</span><span>B</span><br>c</pre> <p>x</p> <p>y</p>"
    for text in (code, "no tags.At all < 3 and > 2", ""):
        assert separate(text) == text
    assert to_markdown("<b>we have.</b><em>Dagny</em>") == "**we have.** *Dagny*"
    assert separate("x<br/>y<td>z") == "x<br/> y<td> z"
    unended = "<script><svg><!--<style>" * 20_000
    assert without_scripts(unended) == unended


def test_what_is_no_text_is_removed() -> None:
    for html, left in (
        ("a<script>if (x<y) s('</p>')</script >b<!-- <p> -->c<STYLE media=x>p{}</STYLE>d", "abcd"),
        ("a<svg viewBox='0'><path/><title>t</title></svg>b<svg/>c", "abc"),
        ("a<script>never ends<style>p{}</style>b", "a<script>never endsb"),
        ("a<svg>b<!--c<script>d", "a<svg>b<!--c<script>d"),
        ("<scripture>a</scripture>", "<scripture>a</scripture>"),
        ("<script type='application/ld+json'>{}</script><script>x</script>",
         "<script type='application/ld+json'>{}</script>"),
    ):  # fmt: skip
        assert without_scripts(html).replace("<svg/>", "") == left
