from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from ua_tui.core.agent.permissions.addresses import KnownAddresses, addresses_in_text, shown_host

CASES = cases_of(__file__)

PAGE = "https://www.papers.example/a/b.html?id=3&part=2&utm_source=mail#notes"
ABROAD = "https://bücher.example/straße/%C3%B6"


def known(*addresses: str) -> KnownAddresses:
    found = KnownAddresses()
    found.update(addresses)
    return found


def test_only_spellings_and_beginnings_of_an_address_are_known() -> None:
    for address in CASES["spellings_and_beginnings_of_an_address_are_known"]:
        assert known(PAGE, ABROAD).covers(address), address
    for address in CASES["anything_added_or_spelled_otherwise_is_new"]:
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
    for address in CASES["addresses_are_found_in_prose_in_markdown_and_in_html"]:
        assert found.covers(address), address
    assert not found.covers("https://papers.example/3")


def test_a_person_may_omit_the_scheme() -> None:
    found = known(
        *addresses_in_text("What is new on papers.example/news? Write to me@mail.example.", bare=True)
    )
    assert found.covers("https://papers.example/news")
    assert not found.covers("https://mail.example")
    assert addresses_in_text("papers.example/news") == []


def test_long_texts_are_read_in_pieces_and_the_oldest_spellings_forgotten() -> None:
    links = [f"https://papers.example/{number:06}" for number in range(4_000)]
    found = known(*addresses_in_text(" ".join(links)))
    assert all(found.covers(link) for link in links)
    found = KnownAddresses(most=40)
    for number in range(100):
        found.update([f"https://papers.example/{number}"])
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
