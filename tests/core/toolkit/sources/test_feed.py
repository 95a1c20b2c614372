from __future__ import annotations

import json
from pathlib import Path

from tests.core.cases import cases_of
from ua_tui.core.toolkit.sources.feed import MAX_ENTRIES, is_feed, is_json_feed, json_feed, xml_feed
from ua_tui.core.toolkit.sources.web_page import WebDocument, read_document

CASES = cases_of(__file__)

URL = "https://chips.example/feeds/all.xml"
RSS, ATOM, RDF = (
    Path(__file__).with_name(f"feed.{kind}").read_text("utf-8").strip() for kind in ("rss", "atom", "rdf")
)


def test_rss_is_a_list_of_entries() -> None:
    found = xml_feed(RSS, URL)
    assert found is not None
    assert (found.title, found.date) == ("Chip Daily", "2026-03-12")
    assert found.text.split("\n") == CASES["rss_is_a_list_of_entries"]


def test_atom_rdf_and_json_feeds_are_lists_too() -> None:
    atom, rdf = xml_feed(ATOM, URL), xml_feed(RDF, URL)
    assert atom is not None
    assert atom.text.split("\n") == [
        "- [A clip](https://chips.example/watch?v=1) (2026-03-10): What it shows.",
        "- [A text](https://chips.example/t) (2026-03-09): Short.",
    ]
    assert rdf is not None
    assert (rdf.title, rdf.text) == ("Old news", "- [One](https://chips.example/1)")
    source = {
        "version": "https://jsonfeed.org/version/1.1", "title": "Notes",
        "items": [{"title": "A", "url": "/a", "date_published": "2026-03-01", "content_html": "<p>Text.</p>"}, 3],
    }  # fmt: skip
    assert is_json_feed(json.dumps(source).encode())
    found = json_feed(json.dumps(source), URL)
    assert found is not None
    assert (found.title, found.text) == ("Notes", "- [A](https://chips.example/a) (2026-03-01): Text.")
    for other in ("[]", "{", "[" * 100_000, '{"items": {}}', '{"items": []}'):
        assert json_feed(other, URL) is None


def test_a_feed_is_known_by_its_first_element_whatever_its_type() -> None:
    for media_type in ("application/rss+xml", "text/html", "text/plain", "application/xml"):
        assert is_feed(RSS.encode(), media_type)
    assert not is_feed(RSS.encode(), "application/pdf")
    assert not is_feed(f"<html><body><pre>{RSS}".encode(), "text/html")
    assert not is_feed(b"<svg/>", "text/xml")
    head = '\ufeff\n<?xml version="1.0"?>\n<!-- made by <rss> -->\n<!DOCTYPE rss [<!ENTITY x "y">]>\n'
    assert is_feed((head + RSS[RSS.index("<rss") :]).encode(), "text/plain")
    assert not is_feed(b"How to write a feed: begin with <rss version=2.0>.", "text/plain")
    assert not is_feed(b"<!doctype html><title>Feeds</title><p>Write <feed > first.", "text/html")
    assert not is_feed(b"<!--" * 1_000, "text/html")


def test_what_only_begins_like_a_feed_is_read_by_its_own_type() -> None:
    for kind, body, text in CASES["what_only_begins_like_a_feed_is_read_by_its_own_type"]:
        document = WebDocument(body.encode(), "utf-8", URL, kind, may_be_feed=True)
        assert read_document(document).article.text.strip() == text


def test_a_long_feed_says_what_is_missing_and_a_damaged_one_keeps_its_entries() -> None:
    items = "".join(f"<item><title>Story {n}</title></item>" for n in range(MAX_ENTRIES + 7))
    found = xml_feed(f"<rss><channel>{items}</channel></rss>", URL)
    assert found is not None
    assert found.text.endswith("(The list ends here: 7 more entries.)")
    damaged = xml_feed(RSS[: RSS.index("All of it")].replace("&amp; power", "& power &nbsp;"), URL)
    assert damaged is not None
    assert "Memory" in damaged.text


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))


def test_entities_that_multiply_are_left_out() -> None:
    laughing = f"<!DOCTYPE rss [{LAUGHS}]><rss><channel><item><title>One &l9;</title></item></channel></rss>"
    found = xml_feed(laughing, URL)
    assert found is not None
    assert found.text == "- One"
    assert xml_feed(laughing.replace("<item>", "<title>&l9;</title><item>"), URL) is None


def test_entities_are_not_resolved_and_nothing_is_loaded() -> None:
    for hostile in CASES["entities_are_not_resolved_and_nothing_is_loaded"]:
        found = xml_feed(hostile, URL)
        assert found is not None
        assert found.text.startswith("- One")
        assert len(found.text) < 100
        assert "root:" not in found.text
        assert "inserted" not in found.text


def test_what_is_no_feed_is_none() -> None:
    for text in ("", "<rss", "<rss/>", "<html><p>x", "\0", "<a>" * 5_000, "\ud800", "<rss>" * 400):
        assert xml_feed(text, URL) is None
