from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.concurrency.cancellation import Stop, Stopped
from ua_tui.observers.evidence.reading import document
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.report import Report

PATHS = st.sampled_from(["a.html", "a.md", "a.txt"])
MARKUP = """
a 5 Ab. &amp; &#8364; &lt &nbsp; é \u200b 1. - # > | --- [1] [^1] [^1]: ¹ ` * _ ~~ \\ [t](u) ![ ]( ) https://a.de/b.
<p> </p> <b> </b> <div hidden> </div> <table> <tr> <td> <td colspan=3> </table> <a href=#n> </a> <sup> </sup>
<li id=n> <blockquote> <cite> <q> </q> <h2> Sources </h2> <!-- --> <script> </script> <br> <pre> <dl> <dt> <dd>
"""
SPACES = ["\n", "\n\n", "\r\n", "\t", "    ", " ", "\x00", "\ud7ff", "<", ">", '"', "'"]
PIECES = st.sampled_from([*MARKUP.split(), *SPACES])
SOUP = st.lists(PIECES, max_size=40).map("".join)


def _check(report: Report) -> None:
    """Check what holds for every report: above all, the place of each character."""
    source = report.source
    for block in report.blocks:
        text, offsets = block.text, block.offsets
        assert len(text) == len(offsets) > 0
        assert text == text.strip(" \t\n\r\f\v")
        assert "  " not in text
        assert all(first <= second for first, second in pairwise(offsets))
        assert 0 <= offsets[0] <= offsets[-1] < len(source)
        for character, at in zip(text, offsets, strict=True):
            is_same = source[at] == character or character == " "
            is_entity = source[at] == "&"
            is_quotation = character in "“”‘’" and "<q" in source
            is_index = source[at] in "0123456789+-−=()n" and character in "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ"
            assert is_same or is_entity or is_quotation or is_index
        for link in block.links:
            assert 0 <= link.start < link.end <= len(text)
    for number, sentence in enumerate(report.sentences):
        assert sentence.number == number
        assert 0 <= sentence.start < sentence.end <= len(sentence.block.text)
    assert {id(sentence.block) for sentence in report.sentences} == {id(block) for block in report.blocks}


@given(SOUP, PATHS)
def test_each_character_has_its_place_in_the_source(text: str, path: str) -> None:
    _check(read_report(text.encode(), path))


@given(st.binary(max_size=200), PATHS)
def test_any_bytes_can_be_read(data: bytes, path: str) -> None:
    _check(read_report(data, path))


@given(st.lists(st.sampled_from(["word", "5.5", "Ünder", "a&b", "x<y"]), min_size=1, max_size=10))
def test_a_claim_is_found_in_the_source(words: list[str]) -> None:
    report = read_report(("lead " + " ".join(f"**{word}**" for word in words)).encode(), "a.md")
    (block,) = report.blocks
    at = 5
    for word in words:
        start, end = block.source_range(at, at + len(word))
        assert report.source[start:end] == word
        at += len(word) + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("piece", "path"),
    [
        ("<div>", "a.html"), ("<table><tr><td>", "a.html"), ("<blockquote><ul><li>", "a.html"),
        ("<b><p>", "a.html"), ("<a href=x>", "a.html"), ("</div>", "a.html"), ("<!--", "a.html"),
        ('<a "', "a.html"), ("<", "a.html"), ("&", "a.html"), ("1. ", "a.html"), ("<sup>1</sup>", "a.html"),
        (">", "a.md"), ("- ", "a.md"), ("[", "a.md"), ("![a](", "a.md"), ("*a _b ", "a.md"), ("`", "a.md"),
        ("<a ", "a.md"), ("[a]: /u\n", "a.md"), ("[^1]: a\n", "a.md"), ("a|b\n-|-\n", "a.md"),
        ("a\n---\n", "a.txt"), ("[1] ", "a.txt"), ("AAAA\n", "a.txt"),
    ],
)  # fmt: skip
def test_deep_and_repeated_markup_is_read_in_linear_time(piece: str, path: str) -> None:
    count = 50_000 if piece == "<div>" else 4_000
    assert read_report((f"start {piece * count} end").encode(), path).blocks


@pytest.mark.parametrize("path", ["a.html", "a.md", "a.txt"])
def test_only_the_beginning_of_a_long_report_is_read(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "LONGEST", 1 << 18)
    data = b"Abc def 12.\n\n" * (document.LONGEST // 13 + 1_000)
    report = read_report(data, path)
    assert report.is_cut
    assert report.notices == ("Only the beginning of the report was checked, as it is very long.",)
    assert len(report.source) == len(data)
    assert report.blocks[-1].offsets[-1] < document.LONGEST
    assert len(report.sentences) > 10_000


def test_a_long_report_is_read_completely() -> None:
    text = "The market reached 5.2 billion dollars in 2024, up 12 percent. " * 5_000
    report = read_report(f"<p>{text}</p><p>end</p>".encode(), "a.html")
    assert (report.is_cut, report.blocks[-1].text) == (False, "end")


def test_invisible_and_look_alike_characters_are_kept() -> None:
    text = "It cost 5\u200b0 d\u043ellars and \u0440aid\u202e."
    for path in ("a.html", "a.md", "a.txt"):
        assert read_report(text.encode(), path).blocks[0].text == text


def test_reading_stops() -> None:
    stop = Stop()
    stop.set()
    for path in ("a.html", "a.md", "a.txt"):
        with pytest.raises(Stopped):
            read_report(b"a <b>b</b>\n\n" * 2_000, path, stop)


def test_an_empty_report_has_no_blocks() -> None:
    report = read_report(b"", "a.md")
    assert (report.source, report.title, list(report.blocks), report.is_cut) == ("", "", [], False)
