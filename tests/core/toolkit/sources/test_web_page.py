from __future__ import annotations

import json

from tests.core.cases import cases_of
from tests.core.toolkit_site import SENTENCE, article_html
from ua_tui.core.toolkit.sources.web_page import ReadPage, WebDocument, read_document, read_html

CASES = cases_of(__file__)

URL = "https://chips.example/story/1"
BODY = SENTENCE * 3


def page(head: str = "", body: str = "", title: str = "Chip story") -> str:
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def script(value: object, kind: str = "application/ld+json", **attributes: str) -> str:
    named = "".join(f' {name}="{text}"' for name, text in attributes.items())
    return f'<script type="{kind}"{named}>{json.dumps(value)}</script>'


def read(html: str) -> ReadPage:
    return read_html(html, URL)


def test_a_page_with_an_article_is_asked_for_nothing_else() -> None:
    head = script({"@type": "NewsArticle", "articleBody": "Another text. " * 90})
    found = read(article_html(1).replace("</head>", f"{head}</head>"))
    assert found.obstacle is None
    assert SENTENCE.strip() in found.article.text
    assert "Another text" not in found.article.text


def test_a_markdown_file_has_the_title_of_its_first_line() -> None:
    for text, title in {
        "# The wall\n\nIt moves.": "The wall",
        "---\ntitle: x\ntags: [a]\n---\n\n# The wall\n": "The wall",
        "## Part": None,
        "It moves.\n# Later": None,
        "#!/bin/sh\n": None,
        "---\n" * 50_000: None,
        " " * 100_000: None,
        f"---\na: b\n---{chr(10) * 200_000}It moves.": None,
    }.items():
        assert read_document(WebDocument(text.encode(), "utf-8", URL, "text")).article.title == title


ARTICLE = CASES["article"]


def test_a_text_that_only_linked_data_has_is_read() -> None:
    for wrapped in ("{}", "<!--\n{}\n-->", "{};"):
        source = wrapped.format(json.dumps(ARTICLE))
        found = read(page(f"<script type='application/ld+json'>{source}</script>", "<div id=root></div>"))
        assert (found.article.text.strip(), found.obstacle) == (BODY.strip(), None)
        assert (found.article.author, found.article.date) == ("Ada Example; Bo Example", "2026-03-11")
        assert found.article.title in {"A headline", "Chip story"}


def test_descriptions_of_linked_data_are_read() -> None:
    job = {
        "@type": "JobPosting", "title": "Engineer", "description": f"<p>{BODY}</p><ul><li>One thing</li></ul>",
    }  # fmt: skip
    assert f"{BODY.strip()}\n\n- One thing" in read(page(script(job))).article.text


SAID = "All of this is nonsense, as I have said here so often that I could write a longer text about it. " * 3
SHORT = "The maker of the part says that it doubles the bandwidth of the memory at the same power."


def test_texts_of_the_site_and_of_readers_are_not_the_text_of_the_page() -> None:
    for kind in ("Organization", "WebSite", ["Person"], "https://schema.org/Comment", "Review"):
        other = {"@type": kind, "author": {"name": "troll42"}, "text": SAID, "description": SAID}
        assert read(page(script(other), "<div id=root></div>")).obstacle == "javascript"
        with_article = [{"@type": "NewsArticle", "headline": "A headline", "description": SHORT}, other]
        found = read(page(script({"@graph": with_article}), "<div id=root></div>")).article
        assert (found.text, found.author) == (SHORT, None)


def test_the_text_that_a_page_shows_is_kept() -> None:
    price = "It will be sold from May on, at the price of the part before it."
    visible = f"<p>{SHORT}</p><p>{price}</p>"
    product = {"@type": "Product", "description": BODY * 3}
    assert read(page(script(product), visible)).article.text.strip() == f"{SHORT}\n\n{price}"
    posting = {"@type": "DiscussionForumPosting", "text": f"{SHORT} {BODY}" * 2}
    text = read(page(script(posting), visible)).article.text
    assert text.startswith(f"{price}\n\n{SHORT} {BODY}")


def test_the_sentences_of_every_state_are_read() -> None:
    states = [
        [
            f"This is sentence {number} of a long list of sentences, all of which differ."
            for number in range(1_200)
        ]
    ]
    states.append(["What matters to the readers of this page is only said in its second script."])
    text = read(page(body="".join(script(each, "application/json") for each in states))).article.text
    assert "sentence 999 of" in text
    assert "sentence 1000 of" not in text
    assert "its second script" in text


def test_data_that_is_none_is_skipped() -> None:
    small = ("", "{", "null", '"text"', '{"articleBody": 3}', "NaN")
    for source in (*small, "[" * 100_000, '{"a":' * 5_000 + "1"):
        both = f'<script type="application/ld+json">{source}</script><script type="application/json">{source}'
        assert read(page(both)).obstacle == "javascript"


CAPTCHA = '<script src="https://www.google.com/recaptcha/api.js"></script>'


def test_a_page_without_its_text_has_a_reason() -> None:
    for html, reason in CASES["a_page_without_its_text_has_a_reason"]:
        assert read(html).obstacle == reason
    words = "Verify you are human. It needs to review the security. " * 8
    body = f"<h1>chips.example</h1><p>{words}</p><script>window._cf_chl_opt={{}}</script>"
    assert read(page(title="Just a moment...", body=body)).obstacle == "bot_check"


def test_a_page_with_a_text_is_read_whatever_it_mentions() -> None:
    for html in (
        page(body="<p>Closed on Mondays. Otherwise open from nine to five.</p>"),
        page(body=f"<p>{SENTENCE * 2}</p><p>Log in</p><input type=password><p>We use cookies. Accept all</p>"
         "<p>The map needs JavaScript.</p>"),
        page(CAPTCHA, "<p>Human resources: call us.</p><p>This site is protected by reCAPTCHA.</p>"),
        page(body="<p>Sign in for more.</p><p>The library opens at nine.</p>"),
        page(title="Access denied: a history", body=f"<article><p>{BODY * 6}</p></article>"),
        page(title="Just a moment", body=f"<article><p>{BODY * 6}</p></article>"
         "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>"),
        page(body=f"<article><h1>How to enable JavaScript</h1><p>{BODY * 3}</p></article>"),
        page(script({"isAccessibleForFree": False}),
         f"<article><p>{BODY}</p><p>Subscribe to read on.</p></article>"),
    ):  # fmt: skip
        found = read(html)
        assert found.obstacle is None
        assert found.article.text.strip()


def test_a_page_that_only_leads_to_another_one_names_it() -> None:
    for head, body, target in CASES["a_page_that_only_leads_to_another_one"]:
        assert read(page(head, body)).leads_to == target
