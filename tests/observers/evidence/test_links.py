from __future__ import annotations

from array import array
from collections.abc import Sequence

import pytest

from ua_tui.core.concurrency.cancellation import NEVER, Stop, Stopped
from ua_tui.core.evidence.records import Claim, Source, SourceKind, Verdict
from ua_tui.observers.evidence import links
from ua_tui.observers.evidence.links import check_links, report_addresses
from ua_tui.observers.evidence.report import Block, Link, Report, Sentence
from ua_tui.observers.evidence.sources import Sources, SourceText

PAGE = "https://chips.example/story/3"
SEEN = "https://seen.example/1"
NEW = "https://new.example/1"


def linked(text: str, *urls: str, sign: str = "§", **more: object) -> Block:
    """A block whose links are between signs: "Read §this§."; its source has a mark before each character."""
    parts = text.split(sign)
    plain, found = "", []
    for number, part in enumerate(parts):
        if number % 2:
            found.append(Link(len(plain), len(plain) + len(part), urls[number // 2]))
        plain += part
    offsets = array("L", range(1, 2 * len(plain), 2))
    return Block(kind="paragraph", text=plain, offsets=offsets, links=found, **more)  # type: ignore[arg-type]


def report(*blocks: Block) -> Report:
    sentences = [Sentence(number, block, 0, len(block.text)) for number, block in enumerate(blocks)]
    return Report(source="", blocks=blocks, sentences=sentences)


def known(*pages: tuple[SourceKind, str, str]) -> Sources:
    return Sources(
        [
            SourceText(number, Source(kind=kind, url=url, title=f"Page {number}"), text)
            for number, (kind, url, text) in enumerate(pages)
        ]
    )


SOURCES = known(
    ("article", PAGE, f"A story. It links to {SEEN}, too."), ("search_row", "https://row.example/", "Row")
)


def claims(*blocks: Block, sources: Sources = SOURCES) -> Sequence[Claim]:
    return list(check_links(report(*blocks), sources, NEVER))


def test_each_link_has_a_claim_with_its_place_and_evidence() -> None:
    block = linked("Read §the story§ and §that§ and §this§.", PAGE, SEEN, NEW, section="One")
    read, seen, invented = claims(block)
    assert [each.verdict for each in (read, seen, invented)] == [Verdict.READ, Verdict.SEEN, Verdict.INVENTED]
    assert (read.kind, read.text, read.url, read.section) == ("link", "the story", PAGE, "One")
    assert (read.sentence, read.at) == ("Read the story and that and this.", 5)
    assert (read.start, read.end) == (11, 28)
    (evidence,) = read.evidence
    assert (evidence.source, evidence.passage) == (0, f"A story. It links to {SEEN}, too.")
    (evidence,) = seen.evidence
    assert evidence.source == 0
    assert [evidence.passage[start:end] for start, end in evidence.marks] == [SEEN]
    assert (invented.evidence, invented.remarks) == ((), ())


@pytest.mark.parametrize(
    "url",
    [
        "#part", "", " ", "mailto:a@b.example", "tel:1", "javascript:alert(1)", "data:text/plain,x",
        "about:blank",
    ],
)  # fmt: skip
def test_links_that_lead_to_nothing_outside_are_left_out(url: str) -> None:
    assert claims(linked("Read §this§.", url)) == []
    assert list(report_addresses(report(linked("Read §this§.", url)))) == []


def test_a_mark_of_a_footnote_adds_nothing_to_the_link_of_its_entry() -> None:
    text = linked("It grew§[1]§ and fell§²§ and rose§(3)§ and fell§[1, 2]§.", PAGE, PAGE, SEEN, SEEN)
    entry = linked("1. §The story§", f"{PAGE}#top", is_bibliography=True)
    assert [(each.text, each.url) for each in claims(text, entry)] == [
        ("(3)", SEEN),
        ("The story", f"{PAGE}#top"),
    ]


def test_hidden_links_and_every_place_of_a_link_count() -> None:
    shown = claims(linked("§One§ and §two§", PAGE, PAGE), linked("§hidden§", NEW, is_hidden=True))
    assert [each.text for each in shown] == ["One", "two", "hidden"]


def test_a_link_without_text_has_the_place_at_which_it_is() -> None:
    (claim,) = claims(linked("A picture§§.", PAGE))
    assert (claim.text, claim.end - claim.start) == ("", 1)
    block = Block(kind="paragraph", text="", offsets=array("L"), links=[Link(0, 0, PAGE)])
    assert [(each.start, each.end) for each in claims(block)] == [(0, 0)]


@pytest.mark.parametrize(
    ("url", "remark"),
    [
        ("https://сhips.example/story/3", "The host has look-alike characters."),
        ("https://xn--hips-k6d.example/story/3", "The host has look-alike characters."),
        ("https://ch1ps.example/story/3", "The host has look-alike characters."),
        ("https://user:word@chips.example/story/3", "The address has credentials."),
        ("https://chips.example@evil.example/", "The address has credentials."),
    ],
)
def test_suspicious_addresses_have_a_remark(url: str, remark: str) -> None:
    (claim,) = claims(linked("Read §this§.", url))
    assert remark in claim.remarks
    assert claim.is_doubtful


@pytest.mark.parametrize(
    "url", [PAGE, NEW, "https://münchen.example/", "https://例え.example/", "https://пример.example/"]
)
def test_other_addresses_have_none(url: str) -> None:
    (claim,) = claims(linked("Read §this§.", url))
    assert claim.remarks == ()


def test_a_text_that_shows_another_address_is_suspicious() -> None:
    block = linked("§https://bank.example/§, §www.chips.example/story§, §Chips.example§", PAGE, PAGE, PAGE)
    assert [each.remarks for each in claims(block)] == [("The text shows another address.",), (), ()]


def test_very_long_and_very_many_links_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_MOST", 10)
    long = f"{NEW}/{'a' * 100_000}"
    text = "word " * 100_000
    found = claims(linked(f"{text}§{text}§{text}", long), *[linked("§x y§", PAGE)] * 20)
    assert len(found) == 10
    assert len(found[0].url) <= 2_000
    assert len(found[0].text) <= 500
    assert len(found[0].sentence) <= 2_000
    assert found[0].sentence[found[0].at :].startswith("word ")


def test_checking_stops() -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        list(check_links(report(linked("§x§", PAGE)), SOURCES, stop))


def test_addresses_of_links_and_of_blocks_are_looked_up() -> None:
    block = linked("§this§ §x§", PAGE, "#a", cites=(NEW, "mailto:a"))
    assert list(report_addresses(report(block))) == [PAGE, NEW]
