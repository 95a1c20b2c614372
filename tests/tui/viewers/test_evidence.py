from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.tui.viewers.checked_report import (
    CLAIMS,
    HTML,
    REPORT,
    blocks_in,
    claims_in,
    save_copy,
    write_session,
)
from ua_tui.core.evidence.records import LEVELS, Claim, Level, ReportCheck, Verdict
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.evidence.alignment import align
from ua_tui.tui.viewers.evidence.marks import MarkedBody, MarkedRows
from ua_tui.tui.viewers.evidence.origin import CheckedFile, find_check
from ua_tui.tui.viewers.evidence.passages import claim_body
from ua_tui.tui.viewers.evidence.signs import SIGNS, severity, sign_of
from ua_tui.tui.viewers.evidence.summary import summary_line
from ua_tui.tui.viewers.evidence.words import ClaimWords, row_text, words_of_sentences, words_of_texts
from ua_tui.tui.viewers.safe_html import to_markdown

THEME = MarkdownTheme()


def marked(body: Body, claims: Sequence[Claim], words: ClaimWords, width: int, **options: bool) -> MarkedRows:
    return MarkedBody(body, claims, words, **options).lay_out(width, THEME)


def text_of(rows: MarkedRows) -> list[str]:
    return [row_text(rows.row(y)).rstrip() for y in range(len(rows))]


def highlighted(rows: MarkedRows) -> dict[int, list[str]]:
    """The highlighted text of each claim, row by row, without its signs."""
    found: dict[int, list[str]] = {}
    for y in range(len(rows)):
        text = row_text(rows.row(y))
        for start, end, role, claim in rows.decorations(y):
            if not role.startswith("sign-"):
                found.setdefault(claim, []).append(text[start:end])
    return found


def report_rows(width: int, **options: bool) -> MarkedRows:
    body = PageBody(MarkdownBody(to_markdown(HTML)))
    claims = claims_in(HTML)
    return marked(body, claims, words_of_texts(blocks_in(HTML), claims), width, **options)


# Alignment

GREW = ("grew", "by", "58", "percent")


def test_repeated_words_are_aligned_in_their_order() -> None:
    ours = ["a", *GREW, "b", *GREW, "c", *GREW]
    theirs = ["menu", "a", *GREW, "picture", "of", "b", "b", *GREW, "then", "c", *GREW, "end"]
    found = align(ours, theirs)
    assert [theirs[at] for at in found] == ours
    assert found == sorted(found)


def test_cells_whose_lines_interleave_keep_their_figures() -> None:
    ours = "the first cell is long 41 the second cell as well 42"
    theirs = ["the", "first", "the", "second", "cell", "is", "cell", "as", "long", "41", "well", "42"]
    found = dict(zip(ours.split(" "), align(ours.split(" "), theirs), strict=True))
    assert theirs[found["41"]] == "41"
    assert theirs[found["42"]] == "42"


@example(["a", "1", "1", "1"], ["1", "1", "a", "a"])
@given(st.lists(st.sampled_from("abc1")), st.lists(st.sampled_from("abc1")))
def test_words_are_aligned_with_the_same_words_and_none_twice(ours: list[str], theirs: list[str]) -> None:
    found = align(ours, theirs)
    taken = [at for at in found if at >= 0]
    assert len(taken) == len(set(taken))
    assert all(theirs[at] == word for word, at in zip(ours, found, strict=True) if at >= 0)
    assert align(ours, ours) == list(range(len(ours)))


def test_one_word_that_is_repeated_without_end_is_aligned_in_linear_time() -> None:
    many = ["a"] * 30_000
    assert align([*many, "b", *many], [*many, "c", "c", *many]).count(-1) == 1


# Words


def test_words_are_placed_by_the_source_of_the_report() -> None:
    claims = claims_in(HTML)
    words = words_of_texts(blocks_in(HTML), claims)
    shown = [" ".join(words.words[first:last]) for first, last in words.ranges]
    assert shown == [" ".join(text.lower().split()) for _, _, text, _ in CLAIMS]


def test_a_claim_that_begins_inside_a_word_has_that_word() -> None:
    text = "It costs USD5 today"
    at = text.index("5")
    claim = Claim(kind="figure", verdict=Verdict.TRACED, text="5", start=at, end=at + 1)
    words = words_of_texts([(text, range(len(text)))], (claim,))
    assert words.ranges == [(2, 3)]


# Marks


def test_signs_are_in_a_margin_with_the_worst_first() -> None:
    rows = text_of(report_rows(110))
    (first,) = [row for row in rows if "The H200 has" in row]
    assert first.lstrip().startswith("?↗✓ The H200 has 141 GB")
    (second,) = [row for row in rows if "Customers" in row]
    assert second.lstrip().startswith("✗≠ “Customers")
    (row,) = [row for row in rows if "B200" in row]
    assert row.lstrip().startswith("? B200")


@pytest.mark.parametrize(
    ("width", "inline"), [(110, False), (60, False), (24, False), (76, True), (30, True)]
)
def test_every_claim_has_its_own_words_at_every_width(width: int, inline: bool) -> None:
    rows = report_rows(width, inline=inline)
    shown = {claim: "".join(parts) for claim, parts in highlighted(rows).items()}
    for number, (_, _, text, _) in enumerate(CLAIMS):
        plain = "".join(character for character in shown[number] if character not in "✓?↗≠✗= ")
        assert plain == text.replace(" ", ""), (number, shown[number])
    yields = [y for y, row in enumerate(text_of(rows)) if "yield" in row]
    assert rows.claim_row(7) in range(yields[0], yields[0] + 3)


def test_signs_in_the_text_follow_the_claim_and_fit() -> None:
    rows = report_rows(76, inline=True)
    text = "\n".join(text_of(rows))
    assert "141 GB✓ of memory" in text
    assert "58 percent↗, and 71 percent?" in text.replace("\n", " ")
    assert "line≠”" in text
    assert max(map(len, text.splitlines())) <= 76


def test_signs_in_a_table_keep_its_columns() -> None:
    html = "\n<table><tr><th>Part</th><th>Memory</th><th>Year</th></tr>" + "".join(
        f"<tr><td>H{n}00</td><td>{n}1</td><td>202{n}</td></tr>" for n in range(1, 4)
    )
    claims = claims_in(html, [("figure", Verdict.UNTRACED, "21", 1)])
    body = PageBody(MarkdownBody(to_markdown(html)))
    rows = text_of(marked(body, claims, words_of_texts(blocks_in(html), claims), 76, inline=True))
    (sign,) = [row for row in rows if "?" in row]
    (other,) = [row for row in rows if "H100" in row]
    assert sign.index("2022") == other.index("2021")


def test_only_what_is_around_doubtful_claims_is_shown() -> None:
    filler = "".join(f"<p>Paragraph {number} with nothing.</p>\n" for number in range(30))
    html = HTML.replace("<p>Nothing", filler + "<p>Nothing")
    claims = claims_in(html)
    body = PageBody(MarkdownBody(to_markdown(html)))
    rows = marked(body, claims, words_of_texts(blocks_in(html), claims), 110, only_doubtful=True)
    text = text_of(rows)
    assert any("71 percent" in row for row in text)
    assert not any("Paragraph 7" in row or "yield" in row for row in text)
    assert any(row.strip() == "⋯ 32 lines" for row in text)
    assert not any("✓" in row or "=" in row for row in text)
    for claim in (1, 2, 3, 4, 6):
        y = rows.claim_row(claim)
        assert any(each.claim == claim for each in rows.decorations(y))
    (heading,) = rows.landmarks
    assert "AI chips" in text[heading.row]


def test_a_search_finds_text_across_signs() -> None:
    for options in ({"inline": True}, {}, {"only_doubtful": True}):
        rows = report_rows(76, **options)
        (match,) = rows.find("B200")
        assert row_text(rows.row(match.row))[match.start : match.end] == "B200"
    rows = report_rows(200, inline=True)
    (match,) = rows.find("58 percent, and")
    assert row_text(rows.row(match.row))[match.start : match.end] == "58 percent↗, and"


def test_a_text_is_marked_as_a_page_is() -> None:
    claims = claims_in(HTML)
    words = words_of_texts([(HTML, range(len(HTML)))], claims)
    rows = marked(TextBody(HTML, numbers=True), claims, words, 200)
    (row,) = [y for y, row in enumerate(text_of(rows)) if "71 percent" in row]
    assert any(each.claim == 2 for each in rows.decorations(row))


def test_claims_that_are_in_no_row_do_no_harm() -> None:
    claims = tuple(
        Claim(kind="figure", verdict=Verdict.UNTRACED, text="999", start=at, end=at) for at in (0, 10_000, 5)
    )
    for words in (words_of_sentences(claims), words_of_texts([], claims)):
        rows = marked(TextBody("a text\nof two lines"), claims, words, 40)
        assert [rows.claim_row(number) for number in range(3)] == [0, 0, 0]
        assert "two lines" in text_of(rows)[1]
    assert len(marked(TextBody(""), claims, words_of_sentences(claims), 40, only_doubtful=True)) > 0


# Signs and words of verdicts


def test_every_verdict_has_a_sign_and_doubtful_ones_share_none_with_others() -> None:
    assert set(SIGNS) == set(Verdict)
    supported = {SIGNS[verdict] for verdict, level in LEVELS.items() if level is Level.SUPPORTED}
    assert supported.isdisjoint(
        SIGNS[verdict] for verdict, level in LEVELS.items() if level is not Level.SUPPORTED
    )


def test_what_nothing_supports_is_worse_than_what_a_person_should_look_at() -> None:
    claims = [Claim(kind="figure", verdict=verdict, text="1", start=0, end=1) for verdict in Verdict]
    order = [claim.level for claim in sorted(claims, key=severity)]
    assert order == sorted(order, key=[Level.UNSUPPORTED, Level.LOOK, Level.SUPPORTED].index)
    suspicious = Claim(kind="figure", verdict=Verdict.TRACED, text="1", start=0, end=1, remarks=("odd",))
    assert sign_of(suspicious) == "!"
    assert severity(suspicious) < severity(claims[0])


def test_the_panel_has_verdict_sentence_and_passage() -> None:
    check = ReportCheck(report=REPORT, sha256="", claims=claims_in(HTML))
    parts = ("? untraced", "No source has this figure.", "58 percent, and 71 percent are expected.")
    for text in (claim_body(check, 2, compact=compact).text for compact in (False, True)):
        assert [part for part in parts if part not in text] == []


def test_text_from_a_check_is_shown_literally(tmp_path: Path) -> None:
    evil = "[red]x[/red]\x1b]0;owned\x07\nsecond"
    claim = Claim(
        kind="figure", verdict=Verdict.LOOK, text=evil, start=0, end=4, sentence=evil, note=evil,
        remarks=(evil,),
    )  # fmt: skip
    check = ReportCheck(report=REPORT, sha256="", claims=(claim,), notices=(evil,))
    for text in (claim_body(check, 0).text, summary_line(check).plain):
        assert "[red]x[/red]" in text
        assert not set(text) & {"\x1b", "\x07"}


# The check of a file


def test_the_check_is_found_for_the_report_and_its_saved_copy(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    copy = save_copy(session)
    for path in (session / REPORT, copy):
        found = check_of(path)
        assert found.is_current
        assert found.session == session
        assert len(found.rendered.ranges) == len(CLAIMS)
    copy.write_text(HTML + "<p>changed", encoding="utf-8")
    found = check_of(copy)
    assert not found.is_current
    assert found.check is not None


def check_of(path: Path) -> CheckedFile:
    found = find_check(path)
    assert found is not None
    return found


def test_files_without_a_check_and_of_no_session_have_none(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    other = session / "work_products" / "other.md"
    other.write_text("# other", encoding="utf-8")
    assert check_of(other).check is None
    (tmp_path / "alone.md").write_text("x", encoding="utf-8")
    assert find_check(tmp_path / "alone.md") is None
    assert find_check(session / "journal.jsonl") is None
    (session / "report_checks" / "other.md.json").write_text("{", encoding="utf-8")
    assert check_of(other).check is None
