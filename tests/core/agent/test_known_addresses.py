from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.agent.permissions.known_addresses import KnownAddresses, addresses_in_text, shown_host

PAGE = "https://www.papers.example/a/b.html?id=3&part=2&utm_source=mail#notes"
ABROAD = "https://bücher.example/straße/%C3%B6"


def known(*addresses: str) -> KnownAddresses:
    found = KnownAddresses()
    found.update(addresses)
    return found


def test_spellings_and_beginnings_of_an_address_are_known() -> None:
    for address in (
        PAGE, "https://papers.example/a/b.html?id=3&part=2&utm_source=mail",
        "http://papers.example/a/b.html?id=3&part=2", "https://papers.example/a/b.html?id=3",
        "https://papers.example/a/b.html", "https://papers.example/a/", "https://papers.example/a",
        "https://papers.example", "https://papers.example/", "https://papers.example:443/a",
        "http://www.papers.example:80/a", ABROAD, "https://xn--bcher-kva.example/stra%C3%9Fe/%C3%B6",
        "https://bücher.example/straße/ö",
    ):  # fmt: skip
        assert known(PAGE, ABROAD).covers(address), address


def test_anything_added_or_spelled_otherwise_is_new() -> None:
    for address in (
        "https://papers.example/a/b.html?id=3&part=2#secret", "https://papers.example/a/b.html?id=4",
        "https://papers.example/a/b.html?part=2&id=3", "https://papers.example/a/b.html?id=3&part=2&d=secret",
        "https://papers.example/secret", "https://papers.example/a/B.html", "https://papers.example/a/b.htm",
        "https://papers.example/%61/b.html", "https://papers.example//a", "https://papers.example/a//",
        "https://papers.example/c/../a", "https://papers.example/a/b.html/c2VjcmV0",
        "https://secret.papers.example/a", "https://Papers.example/a", "https://papers.example./a",
        "https://papers.example:8443/a", "https://secret@papers.example/a",
        "https://papers.example\\@evil.example/a", "https://papers.example/a secret",
        "https://papers.example/a\u3000", "https://papers.example/a ", "https://papers.example/a\tsecret",
        "https://papers.example.evil.example/a", "https://evil.example/?https://papers.example/a",
        "https://xn--bcher-kvb.example/", "https://bücher.example/stra%C3%9Fe/ö",
        "https://bücher.example/straße/%c3%b6", "ftp://papers.example/a", "papers.example/a", "//papers.example/a",
        "https:papers.example/a", "https://", "https://papers.example:port/a", "https://[papers.example/a", "",
    ):  # fmt: skip
        assert not known(PAGE, ABROAD).covers(address), address
    # Not even what is known has a user name; a fragment counts where it is sent.
    assert not known("https://me@papers.example/a").covers("https://me@papers.example/a")
    assert known(PAGE).covers("https://papers.example/a#secret", fragment=False)


def test_addresses_are_found_in_prose_in_markdown_and_in_html() -> None:
    text = (
        "See (https://papers.example/a_(b)). Then www.more.example/x, [next](/2?x=1) and <a href='../c'>.\n"
        "https://papers.example/?a=1&amp;b=2"
    )
    found = known(*addresses_in_text(text, base="https://papers.example/p/1"))
    for address in (
        "https://papers.example/a_(b)",
        "https://more.example/x",
        "https://papers.example/2?x=1",
        "https://papers.example/c",
        "https://papers.example/?a=1&b=2",
    ):
        assert found.covers(address), address
    assert not found.covers("https://papers.example/3")


def test_a_person_may_omit_the_scheme() -> None:
    found = known(
        *addresses_in_text("What is new on papers.example/news? Write to me@mail.example.", bare=True)
    )
    assert found.covers("https://papers.example/news")
    assert not found.covers("https://mail.example")
    assert addresses_in_text("papers.example/news") == []


def test_long_texts_are_read_in_pieces_that_cut_no_address() -> None:
    links = [f"https://papers.example/{number:06}" for number in range(4_000)]
    found = known(*addresses_in_text(" ".join(links)))
    assert all(found.covers(link) for link in links)


def test_the_oldest_spellings_are_forgotten() -> None:
    found = KnownAddresses(most=40)
    for number in range(100):
        found.add(f"https://papers.example/{number}")
    assert len(found) <= 40
    assert found.covers("https://papers.example/99")
    assert not found.covers("https://papers.example/1")


def test_a_host_is_named_for_people() -> None:
    assert shown_host("https://www.papers.example:8443/a") == "papers.example"
    assert shown_host("no address") == ""


@given(st.text(max_size=60), st.text(max_size=20))
def test_no_text_makes_an_address_known_that_it_does_not_begin_with(text: str, added: str) -> None:
    found = known(*addresses_in_text(text, base="https://papers.example/a", bare=True), text)
    assert not found.covers(f"https://evil.example/?d={added}.")
