from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.tui.viewers.claims.checked_report import (
    CLAIMS,
    HTML,
    REPORT,
    SOURCE,
    decide,
    save_copy,
    write_session,
)
from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import ReportCheck, check_path
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.records import DOUBTFUL, RISK, Check, Claim, Passage, TextQuote
from ua_tui.core.concurrency.cancellation import Stopped, stoppable
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.markdown import MarkdownBody
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.claims.checked import FoundCheck, find_check
from ua_tui.tui.viewers.claims.marks import SIGNS, MarkedBody, MarkedRows
from ua_tui.tui.viewers.claims.panel import claim_body, opened_source, summary_line
from ua_tui.tui.viewers.document import Body, Rows, row_text
from ua_tui.tui.viewers.safe_html import to_markdown

THEME = MarkdownTheme()
CHECK = ReportCheck(report=REPORT, sha256="", check=Check(claims=CLAIMS), sources=(SOURCE,))


def shown(check: ReportCheck = CHECK) -> CheckedReport:
    return CheckedReport.of(check, Ledger(None, REPORT))


FILE = shown()


def report_rows(width: int) -> MarkedRows:
    return MarkedBody(PageBody(MarkdownBody(to_markdown(None, HTML))), CLAIMS).lay_out(width, THEME)


def text_of(rows: Rows) -> list[str]:
    return [row_text(rows.row(y)).rstrip() for y in range(len(rows))]


def panel_text(body: Body, width: int = 60) -> str:
    return "\n".join(text_of(body.lay_out(width, THEME)))


def marked_words(body: Body, role: str, width: int = 200) -> list[str]:
    """The words in a role, in order."""
    rows = body.lay_out(width, THEME)
    found = []
    for y in range(len(rows)):
        row = rows.row(y)
        spans = sorted(getattr(row, "spans", ()))
        found += [row_text(row)[span.start : span.end] for span in spans if span.style == role]
    return found


# Marks


def test_signs_are_in_a_margin_and_the_riskiest_is_shown() -> None:
    rows = text_of(report_rows(110))
    for words, sign in (("The H200 has", "✗"), ("Customers", "✗"), ("B200", "?"), ("51 GB", "=")):
        (row,) = [row for row in rows if words in row]
        assert row.lstrip().startswith(sign), row
    (plain,) = [row for row in rows if "Nothing to check" in row]
    assert plain.lstrip().startswith("Nothing")


@pytest.mark.parametrize("width", [110, 60, 24, 12])
def test_every_claim_has_its_own_words_at_every_width_and_none_is_split(width: int) -> None:
    rows = report_rows(width)
    shown: dict[int, str] = {}
    for y in range(len(rows)):
        text = row_text(rows.row(y))
        for start, end, role, number in rows.decorations.get(y, ()):
            if not role.startswith("sign-"):
                shown[number] = shown.get(number, "") + text[start:end]
    for number, claim in enumerate(CLAIMS):
        assert shown[number].replace(" ", "") == claim.quote.exact.replace(" ", "")


def test_a_search_finds_text_beside_the_signs() -> None:
    rows = report_rows(110)
    (match,) = rows.find("B200")
    assert row_text(rows.row(match.row))[match.start : match.end] == "B200"
    (heading,) = rows.landmarks
    assert "AI chips" in text_of(rows)[heading.row]


def test_claims_that_are_in_no_row_do_no_harm() -> None:
    claims = [
        Claim(kind="figure", state="differs", quote=TextQuote(exact)) for exact in ("999", "", "…", "\0")
    ]
    for body in (TextBody("a text\nof two lines"), TextBody("")):
        rows = MarkedBody(body, claims).lay_out(40, THEME)
        assert [rows.claim_rows(number) for number in range(len(claims))] == [set()] * len(claims)


def test_a_layout_that_is_no_longer_wanted_stops() -> None:
    stop = threading.Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        MarkedBody(TextBody("a 5"), CLAIMS).lay_out(40, THEME)


# Signs and words


def test_doubtful_states_share_no_sign_and_no_style_with_others() -> None:
    assert set(SIGNS) == set(RISK)
    doubtful = {SIGNS[state] for state in DOUBTFUL}
    others = {sign for state, sign in SIGNS.items() if state not in DOUBTFUL}
    assert not {sign.character for sign in doubtful} & {sign.character for sign in others}
    assert not {sign.style for sign in doubtful} & {sign.style for sign in others}


def test_the_summary_says_what_was_found_decided_and_not_counted() -> None:
    text = summary_line(replace(FILE, signed="Signed: 1 of 8 accepted, 7 open", unsigned="not yours")).plain
    assert text.startswith("✗ 6 figures: 2 found, 1 calculated, 2 not found, 1 differs")
    assert text.index("Nothing else was checked.") < text.index("Signed: 1 of 8") < text.index("not yours")
    assert (
        "5 of 8 claims doubtful: 2 differ, 1 never seen, 2 not found" in summary_line(FILE, brief=True).plain
    )


@pytest.mark.parametrize("width", [90, 200])
def test_the_difference_is_marked_in_the_report_and_in_the_source(width: int) -> None:
    for number, removed, added in (
        (1, ["23 percent"], ["nine percent"]),
        (3, ["are waiting", "line"], ["wait", "long lines"]),
    ):
        body = claim_body(FILE, number)
        assert "".join(marked_words(body, "removed-words", width)).replace(" ", "") == "".join(
            removed
        ).replace(" ", "")
        assert "".join(marked_words(body, "added-words", width)).replace(" ", "") == "".join(added).replace(
            " ", ""
        )


def test_a_claim_without_a_passage_says_what_was_looked_for() -> None:
    assert "No page that was read mentions 71 percent." in panel_text(claim_body(FILE, 2))
    link = " ".join(panel_text(claim_body(FILE, 4)).split())
    assert "No page that was read has the address https://invented.example/r." in link
    assert opened_source(FILE, CLAIMS[2]) is None


def test_the_panel_has_both_texts_in_columns_or_below_each_other() -> None:
    beside = panel_text(claim_body(FILE, 1), 120).splitlines()
    (row,) = [row for row in beside if "In the report" in row]
    assert row.index("│") < row.index("In the source")
    assert max(map(len, beside)) <= 120
    below = panel_text(claim_body(FILE, 1))
    assert below.index("In the report") < below.index("In the source  H200 in detail")
    assert "192 − 141 = 51" in panel_text(claim_body(FILE, 7))


def test_the_words_around_a_claim_tell_which_of_equal_ones_is_marked() -> None:
    claim = Claim(
        kind="figure", state="not found", quote=TextQuote("9", "rose by ", " percent"),
        sentence="In 2019 and with 9 more it rose by 9 percent.",
    )  # fmt: skip
    check = ReportCheck(report=REPORT, sha256="", check=Check(claims=(claim,)))
    body = claim_body(shown(check), 0)
    rows = body.lay_out(90, THEME)
    (row,) = [rows.row(y) for y in range(len(rows)) if "2019" in row_text(rows.row(y))]
    (start,) = {span.start for span in getattr(row, "spans", ()) if span.style == "strong"}
    assert row_text(row)[start - 8 : start] == "rose by "


def test_text_from_a_check_is_shown_literally_and_a_huge_one_in_part() -> None:
    evil = "[red]x[/red]\x1b]0;owned\x07\u202e\nsecond"
    huge = "9 percent x" * 300_000
    for text in (evil, huge):
        quote = TextQuote(text, text, text)
        claim = Claim(
            kind="quotation", state="differs", quote=quote, sentence=text, note=text, section=text, url=text,
            formula=text, instead=text, passages=(Passage(source=0, text=text, quote=quote, headers=text),),
        )  # fmt: skip
        check = ReportCheck(
            report=REPORT, sha256="", check=Check(claims=(claim,), notices=(text,)), sources=(SOURCE,)
        )
        text_shown = panel_text(claim_body(shown(check), 0)) + summary_line(shown(check)).plain
        assert len(text_shown) < 50_000
        assert not set(text_shown) & {"\x1b", "\x07", "\u202e"}
        assert ("[red]x[/red]" in text_shown) == (text == evil)


# The check of a file


def check_of(path: Path) -> FoundCheck:
    found = find_check(path)
    assert found is not None
    return found


def test_the_check_and_the_decisions_are_found_for_the_report_and_its_saved_copy(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    decide(session, [1], "rejected")
    copy = save_copy(session)
    for path in (session / REPORT, copy):
        found = check_of(path)
        assert found.origin.session == session
        assert found.report is not None
        assert found.report.signed == "Signed: 0 of 8 accepted, 1 rejected, 7 open"
        assert [claim.answer for claim in found.report.claims[:3]] == [None, "rejected", None]
    copy.write_text(HTML + "<p>changed", encoding="utf-8")
    assert check_of(copy).is_old
    assert check_of(copy).report is not None


def test_files_without_a_check_and_of_no_session_have_none(tmp_path: Path) -> None:
    session = write_session(tmp_path)
    other = session / "work_products" / "other.md"
    other.write_text("# other", encoding="utf-8")
    assert check_of(other).report is None
    (tmp_path / "alone.md").write_text("x", encoding="utf-8")
    assert find_check(tmp_path / "alone.md") is None
    assert find_check(session / "journal.jsonl") is None
    (session / check_path("work_products/other.md")).write_text("{", encoding="utf-8")
    assert check_of(other).report is None
