from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.observers.decoding.urls import are_web_urls, is_web_url, normal_form, normal_forms
from ua_tui.observers.search import bulk_rows as columns
from ua_tui.observers.search.rows import normalise
from ua_tui.observers.search.sanitise import plain_text, plain_texts

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
PIECES = st.sampled_from(
    (
        "a", "b ", "  ", "x y", "<b>", "</b>", "<", "em>", "<em>", "<br>", "</p>", "<!-- n -->", "<i", ">", "&amp;",
        "amp;", "&#39;", "&lt;", "gt;", "&quot;", "&eacute;", "&", "é", "漢", "\u00a0", "\u3000", "\u200b", "\u2003",
        "\n", "\t", "\x1c", "\x85", "\0", "\ud800", "\udc00", "\ufffd",
    )
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=8).map("".join)
SCHEMES = ("https://", "http://", "HTTPS://", "https://www.", "ftp://", "https:///", " https://")
RESTS = (
    "a.example", "/x", "/", "?", "utm_source=1", "&", "id=3", "gclid=9", "#f", "é", " ", "\n", ":80", "B",
)  # fmt: skip
ADDRESSES = st.tuples(
    st.sampled_from(SCHEMES), st.lists(st.sampled_from(RESTS), max_size=6).map("".join)
).map("".join)
GOOD = st.integers(0, 40).map(lambda number: f"https://paper-{number % 7}.example/{number}")
NUMBERS = st.one_of(st.integers(-5, 5), st.just(10**10), st.floats(), st.booleans(), st.none())
ANYTHING = st.recursive(
    st.one_of(TEXTS, NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(("a", "é", "\ud800", "__cut_off__")), inner, max_size=2),
    ),
    max_leaves=12,
)
DATES = st.sampled_from(("3 hours ago", "2026-01-02", "Nov 3, 2025", "Nov 3", "03/04/2026", ""))
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("title", "headline", "snippet", "description", "source"), TEXTS),
    **dict.fromkeys(("link", "url", "id"), GOOD), **dict.fromkeys(("date", "published_at"), DATES),
    **dict.fromkeys(("rank", "rating"), NUMBERS), "redirect_link": ADDRESSES, "position": st.integers(1, 99),
    "sitelinks": ANYTHING,
}  # fmt: skip


@st.composite
def items_alike(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Objects with the same keys, a few of which have something odd for a value."""
    keys = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=8, unique=True))
    items = draw(st.lists(st.fixed_dictionaries({key: FIELDS[key] for key in keys}), min_size=8, max_size=12))
    for _ in range(draw(st.integers(0, 2))):
        items[draw(st.integers(0, len(items) - 1))][draw(st.sampled_from(keys))] = draw(ANYTHING)
    return items


def one_by_one(items: list[Any], kind: str) -> list[dict[str, Any]]:
    """The rows of items that are too few to be read in columns, each at its place in the list."""
    return [
        row for place, item in enumerate(items) for row in normalise([*[None] * place, item], kind, NOON).rows
    ]


@given(items_alike(), st.sampled_from(("web", "images")))
@pytest.mark.slow
def test_many_rows_at_once_are_what_they_are_one_by_one(items: list[dict[str, Any]], kind: str) -> None:
    found = normalise(items, kind, NOON)
    assert found.rows == one_by_one(items, kind)
    assert len(found.rows) + found.rejected == len(items)


def test_a_list_of_plain_rows_is_read_in_columns_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above would compare the single rows with themselves."""
    made: list[Any] = []
    whole = columns.rows_of_columns
    monkeypatch.setattr(
        "ua_tui.observers.search.rows.rows_of_columns",
        lambda *given: made.append(whole(*given)) or made[-1],  # type: ignore[func-returns-value]
    )
    items = [
        {
            "title": f"<b>Title</b> {number} &amp; more", "link": f"https://paper.example/{number}",
            "date": "3 hours ago", "sitelinks": {"inline": [{"title": "é", "rating": 4.5}]},
        }
        for number in range(8)
    ]  # fmt: skip
    rows = normalise(items, "web", NOON).rows
    assert made == [rows]
    assert all(rows)
    assert rows[7] == {
        "position": 8, "title": "Title 7 & more", "url": "https://paper.example/7", "source": None,
        "date": "2026-11-21T09:00:00+00:00", "snippet": None,
        "extra": {"sitelinks": {"inline": [{"title": "é", "rating": 4.5}]}, "date_original": "3 hours ago"},
    }  # fmt: skip


@given(st.lists(TEXTS, max_size=6))
def test_many_texts_are_made_plain_as_each_of_them_is(texts: list[str]) -> None:
    assert plain_texts(texts, one_line=False) == [plain_text(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<b>a</b> <em>b</em>", "a b"), ("a<br>b<p>c", "a\nb\nc"), ("<i>x</i><<b>b>", "x<b>"),
        ("<b>a</b> <i>b<i>c <<i>b>", "a bc <b>"), ("<b>1 < 2</b>", "1 < 2"),
        ("<b>a</b><a href='x'>c</a>", "ac"), ("&amp;lt; &#39;q&#39; &lt;b&gt;", "&lt; 'q' <b>"),
        ("é\u00a0\u3000é", "é é"), ("\u00a0é\u2003", "é"), ("é\ud800", "é\ufffd"),
    ],
)  # fmt: skip
def test_tags_and_entities_are_taken_out_once(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.lists(st.one_of(GOOD, ADDRESSES), min_size=1, max_size=6))
def test_many_addresses_are_judged_and_compared_as_each_of_them_is(urls: list[str]) -> None:
    assert are_web_urls(urls) == all(map(is_web_url, urls))
    if are_web_urls(urls):
        assert normal_forms(urls) == [normal_form(url) for url in urls]
