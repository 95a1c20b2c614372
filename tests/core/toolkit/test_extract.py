from __future__ import annotations

import pytest

from core.concurrency.conversions import Conversions
from core.net.client import Page
from core.toolkit import extract
from core.toolkit.extract import MAX_ARTICLE_HTML, NotReadable, extract_html, extract_page
from tests.core.toolkit_site import SENTENCE, article_html

URL = "https://chips.example/story/1"


def test_an_article_comes_with_metadata_and_markdown() -> None:
    found = extract_html(article_html(1), URL)
    assert (found.title, found.author, found.site, found.date) == (
        "Chip story 1",
        "Ada Example",
        "Chip Daily",
        "2026-03-11",
    )
    assert "[the details](https://chips.example/details/1)" in found.text
    assert "| Core | 100 |" in found.text
    assert "Subscribe today" not in found.text
    assert "All rights reserved" not in found.text


def test_indices_are_characters_and_code_elements_stay_apart() -> None:
    inline = "H<sub>2</sub>O, mc<sup>2</sup>, x<sub>max</sub>, 2<sup>ab</sup>; <code>a</code><code>b</code>."
    text = extract_html(f"<article><h1>T</h1>{'<p>Words of it.</p>' * 40}<p>{inline}</p></article>", "").text
    assert text.strip().endswith("H₂O, mc², x_max, 2^ab; `a` `b`.")
    assert "<su" not in text


def test_a_page_without_an_article_keeps_its_words() -> None:
    html = (
        "<html><head><title>  Opening &amp;\nhours </title><style>p{color:red}</style></head><body>"
        "<div><span>Open</span> <a href='/map'>daily</a></div><script>var x = 1</script></body></html>"
    )
    found = extract_html(html, URL)
    assert found.title == "Opening & hours"
    assert "Open" in found.text
    assert "daily" in found.text
    assert "color" not in found.text
    assert "var x" not in found.text


def test_a_page_too_large_for_extraction_is_converted_whole_without_its_chrome() -> None:
    paragraph = f"<p>{SENTENCE} <a href='/map'>Map</a></p>"
    html = (
        "<html><head><title>Long &amp; wide</title><style>p{color:red}</style></head><body><nav>Menu</nav>"
        f"{paragraph * (MAX_ARTICLE_HTML // len(paragraph) + 1)}<script>var x = 1</script></body></html>"
    )
    found = extract_html(html, URL)
    assert found.title == "Long & wide"
    assert len(found.text) > MAX_ARTICLE_HTML // 2
    assert "[Map](https://chips.example/map)" in found.text
    for chrome in ("Menu", "color", "var x"):
        assert chrome not in found.text


@pytest.mark.parametrize(
    "html",
    [
        "",
        "no markup at all",
        "<p>unclosed <b>bold <table><tr><td>x",
        "<html>" + "<div>" * 5_000 + "deep" + "</div>" * 5_000,
        "\0\0<p>nul</p>",
        "<!--" + "x" * 1000,
        "<a href='http://[::1'>broken link</a>" + SENTENCE,
        "<?xml version='1.0' encoding='utf-8'?><p>declared</p>",
    ],
)
def test_broken_markup_never_raises_anything_else(html: str) -> None:
    try:
        found = extract_html(html, URL)
    except NotReadable:
        return
    assert isinstance(found.text, str)


def page(html: str) -> Page:
    return Page(URL, URL, 200, "text/html", "utf-8", html.encode())


async def test_a_page_that_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "SECONDS_TO_EXTRACT", 0.4)
    monkeypatch.setattr(extract, "SECONDS_TO_CONVERT", 0.4)
    conversions = Conversions()
    try:
        with pytest.raises(NotReadable, match=r"too complex to be read as HTML .* another source"):
            await extract_page(page("<div/>" * 600_000), conversions)
        monkeypatch.undo()
        with pytest.raises(NotReadable, match="no readable text"):
            await extract_page(page("<p></p>"), conversions)
        found = await extract_page(page(article_html(1)), conversions)
        here = extract_html(article_html(1), URL)
        assert (found.title, found.date, found.text) == (here.title, here.date, here.text.strip())
    finally:
        conversions.close()
