from __future__ import annotations

import pytest

from tests.observers.check.sources import check
from ua_tui.core.claims.records import Claim, Source
from ua_tui.observers.check.link_claims import address_key

PAGE = "https://www.news.example/a/story?id=7"
SOURCES = [
    Source(
        kind="article",
        text="A story that names https://other.example/page and [more](https://third.example/x_(y)).",
        url=PAGE,
    ),
    Source(kind="article", text="", url="https://found.example/row", was_read=False),
]


def link(report: str) -> Claim:
    (claim,) = check(report, "text/markdown", SOURCES).claims
    return claim


@pytest.mark.parametrize(
    ("url", "state", "was_read"),
    [
        (PAGE, "found", True),
        ("http://news.example/a/story?id=7#top", "found", True),
        ("https://NEWS.example/a/story?id=7&utm_source=x", "found", True),
        ("https://news.example/a/story?id=8", "never seen", True),
        ("https://news.example/b/story", "never seen", True),
        ("https://other.example/page/", "found", False),
        ("https://third.example/x_(y)", "found", False),
        ("https://found.example/row", "found", False),
        ("https://news.example/", "found", False),
        ("https://news.example.evil.example/a/story?id=7", "never seen", True),
    ],
)
def test_a_link_was_read_or_found_or_never_seen(url: str, state: str, was_read: bool) -> None:
    claim = link(f"It is so ([source](<{url}>)).")
    assert (claim.state, claim.url, claim.was_read) == (state, url, was_read)
    bare = link(f"It is so: {url}")
    assert bare.state == state


def test_a_claim_has_the_sentence_that_it_is_in() -> None:
    own = 'As Dr. Lee says, "it [never](https://news.example/b) stops".'
    before, after = ("Sales of 750 watts and more rose again. " * 40, " The rest is old." * 40)
    claims = check(f"{before}{own}{after}", "text/markdown", SOURCES).claims
    said = {claim.sentence for claim in claims if claim.kind != "figure"}
    assert said == {'As Dr. Lee says, "it never stops".'}


def test_each_address_is_one_claim_and_anchors_are_none() -> None:
    report = f"[a]({PAGE}) and [b]({PAGE}#x), [mail](mailto:a@b.example), [up](#top) and [file](notes.md)."
    assert len(check(report, "text/markdown", SOURCES).claims) == 1


def test_files_that_exist_are_found() -> None:
    report = "![chart](media/a.png) [data](media/data.csv) and [none](media/none.csv)"
    found = check(report, "text/markdown", SOURCES, files=["media/data.csv"]).claims
    assert [(claim.url, claim.state) for claim in found] == [
        ("media/data.csv", "found"), ("media/none.csv", "never seen"),
    ]  # fmt: skip


def test_spellings_of_an_address_are_one() -> None:
    spellings = (
        "https://www.a.example/x%20y/",
        "http://a.example:80/x y",
        "//a.example/x%20y#z",
        "www.a.example/x%20y",
    )
    assert len({address_key(url) for url in spellings}) == 1
