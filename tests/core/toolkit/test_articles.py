from __future__ import annotations

import json
import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.net.urls import canonical_url
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.toolkit.articles import (
    Article,
    Reference,
    article_path,
    count_words,
    decode_article,
    encode_article,
    text_end,
    visible,
)


def test_the_name_of_a_file_has_no_secret_of_its_address() -> None:
    secret = "K7zSecretOfTheUser"
    names = [
        article_path(f"https://a.example/{path}/story", Redactor([secret]))
        for path in (secret, f"{secret}2", "ghp_0123456789abcdefghijABCDEFG")
    ]
    assert [name.rpartition("/")[2].rpartition("_")[0] for name in names] == [
        "crawl_a_example_redacted_story",
        "crawl_a_example_redacted_2_story",
        "crawl_a_example_redacted_story",
    ]
    assert len(set(names)) == 3


def test_an_article_survives_its_file() -> None:
    article = Article(
        title='Quotes " and: colons\\, # signs',
        url="https://a.example/x?q=1&b=%20",
        author=None,
        site="Chip Daily",
        date="2026-03-11",
        words=4,
        fetched_at="2026-03-12T08:00:00+00:00",
        text="# Title\n\n---\ntitle: not this\n---\n\nText",
    )
    assert decode_article(encode_article(article)) == article
    assert "final_url" not in encode_article(article)
    moved = msgspec.structs.replace(article, final_url="https://a.example/moved")
    assert decode_article(encode_article(moved)) == moved
    links = (Reference("the source", "https://b.example/a(b)?c=1"), Reference("1", "https://c.example/"))
    linked = msgspec.structs.replace(article, links=links)
    source = encode_article(linked)
    assert source.endswith(
        "\n\nText\n\n[the source]: <https://b.example/a(b)?c=1>\n[1]: <https://c.example/>\n"
    )
    assert decode_article(source) == linked
    assert source[: text_end(source)].endswith("\n\nText")


def test_only_the_last_lines_are_addresses() -> None:
    """A text that looks like a list of addresses, and a list that was changed by hand, are text."""
    listed = "Text\n\n[a]: <https://evil.example/>\n[b]: <https://evil.example/>"
    own = Reference("a", "https://a.example/")
    found = decode_article(encode_article(Article(title="t", url="u", text=listed, links=(own,))))
    assert found is not None
    assert (found.text, found.links) == (listed, (own,))
    plain = encode_article(Article(title="t", url="u", text=listed))
    assert decode_article(plain) == Article(title="t", url="u", text=listed)
    assert text_end(plain) == len(plain)
    for count in ("3", "-1", "true", '"2"', "99999999999"):
        changed = decode_article(plain.replace("words: 0", f"words: 0\nlinks: {count}"))
        assert changed is not None
        assert (changed.text, changed.links) == (listed, ())
    odd = (Reference("a\nb", "https://b.example"), Reference("c", "https://d.example/>\n[x]: <y"))
    assert decode_article(encode_article(Article(title="t", url="u", text="x", links=odd))) == Article(
        title="t", url="u", text="x"
    )


def test_links_with_secrets_are_still_links() -> None:
    secret = "K7zSecretOfTheUser"
    links = (
        Reference(f"key {secret}", f"https://b.example/?token={secret}"),
        Reference("1", "https://c.example/"),
    )
    article = Article(title="t", url="u", text=f"See [key {secret}].", links=links)
    found = decode_article(Redactor([secret]).redact(encode_article(article)))
    assert found is not None
    assert found.text == "See [key [redacted]]."
    assert [each.url for each in found.links] == ["https://b.example/?token=[redacted]", "https://c.example/"]


def test_no_title_breaks_out_of_the_front_matter() -> None:
    for title in (
        "a\n---\nurl: https://evil.example", "a\r\nwords: 99", "a\x85words: 99\u2028words: 98",
        "\ud800 & *anchor !tag {flow: [x]}", "- item", "yes", "\x1b]0;title\x07",
    ):  # fmt: skip
        source = encode_article(Article(title=title, url="https://a.example/", words=1, text="Body"))
        lines = source.splitlines()
        assert lines[0] == "---"
        end = lines.index("---", 1)
        names = [line.partition(": ")[0] for line in lines[1:end]]
        assert names == ["title", "url", "author", "site", "date", "words", "fetched_at"]
        values = {line.partition(": ")[0]: json.loads(line.partition(": ")[2]) for line in lines[1:end]}
        assert values["url"] == "https://a.example/"
        assert values["words"] == 1
        assert isinstance(values["title"], str)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", source)


LINKS = st.lists(st.builds(Reference, st.text(), st.text()), max_size=3).map(tuple)
TEXT = st.text()


@given(st.builds(Article, title=TEXT, url=TEXT, author=st.none() | TEXT, text=TEXT, links=LINKS))
def test_any_article_can_be_read_again(article: Article) -> None:
    found = decode_article(encode_article(article))
    assert found is not None
    assert found.text == visible(article.text).strip()
    assert len(found.links) <= len(article.links)


def test_other_files_are_no_articles() -> None:
    for source in (
        "", "# Heading\n\ntext", "---\ntitle: unquoted\nurl: x\n---\nbody", '---\ntitle: "no end"\n',
        '---\ntitle: 3\nurl: "u"\n---\nbody', '---\ntitle: "without url"\n---\nbody',
        "---\ntitle: " + "[" * 5000 + "\n---\nbody",
    ):  # fmt: skip
        assert decode_article(source) is None


def test_spellings_of_one_page_are_one() -> None:
    same = {
        "https://Chips.Example/a?b=c",
        "https://chips.example:443/a?b=c#part",
        "HTTPS://chips.example/a?b=c",
        " https://chips.example/a?b=c ",
    }
    assert {canonical_url(url) for url in same} == {"https://chips.example/a?b=c"}
    different = {"https://chips.example/A?b=c", "http://chips.example/a?b=c", "https://chips.example/a?b=d"}
    assert len({canonical_url(url) for url in same | different}) == 4
    for odd in ("http://[::1", "http://a.example:99999999/", "no url", "http://", "http://x\ud800.example/"):
        assert canonical_url(odd)
        assert article_path(odd)


def test_names_are_safe_short_and_never_shared() -> None:
    stem = "https://very-long-host-name.example/path/that/goes/on/and/on/for/ever/"
    odd = (
        "https://..",
        "http://CON",
        "https://a.example/\nx",
        "https://a.example/\U0001f600",
        "https://a.example/../../x",
    )
    names = [article_path(url) for url in (*(f"{stem}{number}" for number in range(20)), *odd)]
    assert len(set(names)) == len(names)
    assert [
        name for name in names if not re.fullmatch(r"search_results/crawl_[a-z0-9_.-]{,100}\.md", name)
    ] == []
    assert not any(".." in name for name in names)


def test_words_are_counted_as_a_reader_sees_them() -> None:
    counts = {
        "Two words": 2, "[a link](https://a.example/with/many/parts?and=query) end": 3, "AI 芯片": 3, "--- | ###": 0,
        "[a link] and [this][12] end": 5, "don't  - 3.5 % **bold** | cell |": 4,
    }  # fmt: skip
    assert {text: count_words(text) for text in counts} == counts
    # Many beginnings of links without an end, in a text as long as that of a page can be.
    assert count_words(f"{'](' * 250_000} end") == 1


def test_typesetting_characters_vanish_and_controls_do_not_survive() -> None:
    assert visible("pre\u00admium\ufeff \u200bchip\u202e") == "premium chip"
    assert visible("one\u2028two\x1b[2J") == "one\ntwo\ufffd[2J"
