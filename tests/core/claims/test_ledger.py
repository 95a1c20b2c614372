from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import ReportCheck, ledger_path
from ua_tui.core.claims.ledger import Answer, Decision, Ledger, adopt, read_content
from ua_tui.core.claims.opinion import Opinions, questions_about, read_reply
from ua_tui.core.claims.records import Check, Claim, Passage, State, TextQuote
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root

REPORT = "work_products/brief.md"
REDACTOR = Redactor(["s3cret-s3cret"])
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def claim(exact: str, sentence: str, *, prefix: str = "", state: State = "found") -> Claim:
    return Claim(kind="figure", state=state, quote=TextQuote(exact, prefix), sentence=sentence)


YIELD = claim("84", "The yield is 84 percent.")
PRICE = claim("24,900", "It costs 24,900 dollars.", state="not found")
LINK = replace(YIELD, kind="link", url="https://agency.example/yield")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "report_checks").mkdir()
    return tmp_path / ledger_path(REPORT)


def decide(
    path: Path,
    *claims: Claim,
    numbers: Sequence[int] | None = None,
    answer: Answer | None = "accepted",
    note: str | None = None,
) -> None:
    chosen = range(len(claims)) if numbers is None else numbers
    Ledger(path.parents[1], REPORT).decide(claims, chosen, answer, REDACTOR, by="ann", at=NOON, note=note)


def about(path: Path, claim: Claim) -> Decision | None:
    (found,) = read(path).listed([claim])
    return found.decision


def read(path: Path) -> Ledger:
    return Ledger(path.parents[1], REPORT).read()


def signed(path: Path, *claims: Claim) -> str:
    made = ReportCheck(report=REPORT, sha256="", check=Check(claims=claims))
    return CheckedReport.read(made, path.parents[1]).signed


def test_a_decision_is_found_again_with_who_made_it_and_when(path: Path) -> None:
    assert about(path, YIELD) is None
    decide(path, YIELD, note="checked by hand")
    found = about(path, YIELD)
    assert found is not None
    assert (found.answer, found.by, found.at, found.note) == ("accepted", "ann", NOON, "checked by hand")
    assert about(path, PRICE) is None


def test_a_later_answer_replaces_the_earlier_one_and_keeps_the_note(path: Path) -> None:
    decide(path, YIELD, PRICE, note="why")
    decide(path, PRICE, answer="rejected")
    found = about(path, PRICE)
    assert found is not None
    assert (found.answer, found.note) == ("rejected", "why")
    assert signed(path, YIELD, PRICE) == "Signed: 1 of 2 accepted, 1 rejected"
    decide(path, PRICE, answer=None)
    decide(path, PRICE, answer=None, note="")
    assert about(path, PRICE) is None
    assert signed(path, YIELD, PRICE) == "Signed: 1 of 2 accepted, 1 open"
    decide(path, YIELD, answer=None)
    decide(path, PRICE)
    assert signed(path, YIELD, PRICE) == "Signed: 1 of 2 accepted, 1 open, none of them doubtful"


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(claim("84", "The yield is 84 percent, they say."), id="another sentence"),
        pytest.param(claim("84", YIELD.sentence, state="differs"), id="the check finds something else"),
        pytest.param(claim("percent", YIELD.sentence), id="another claim of the sentence"),
    ],
)
def test_a_decision_is_about_this_claim_in_this_sentence_with_this_result(path: Path, changed: Claim) -> None:
    decide(path, YIELD)
    assert about(path, changed) is None
    assert signed(path, changed) == ""


def test_a_decision_about_a_link_is_about_its_address(path: Path) -> None:
    elsewhere = replace(LINK, url="https://elsewhere.example/")
    decide(path, LINK)
    assert [each.answer for each in read(path).listed([YIELD, LINK, elsewhere])] == [None, "accepted", None]
    decide(path, YIELD, LINK, numbers=[0], answer="rejected")
    assert [each.answer for each in read(path).listed([YIELD, LINK])] == ["rejected", "accepted"]


def test_a_decision_outlives_a_change_around_its_sentence(path: Path) -> None:
    decide(path, YIELD)
    moved = claim("84", "The  yield is\n84 percent.", prefix="As before. ")
    assert about(path, moved) is not None


def test_equal_sentences_are_told_apart_by_what_is_around_them(path: Path) -> None:
    claims = [claim("84", YIELD.sentence, prefix=prefix) for prefix in ("one ", "two ", "three ")]
    decide(path, *claims, numbers=[0])
    decide(path, *claims, numbers=[1], answer="rejected")
    assert [each.answer for each in read(path).listed(claims)] == ["accepted", "rejected", None]


def test_secrets_in_a_note_are_masked_and_controls_removed(path: Path) -> None:
    decide(path, YIELD, note="key s3cret-s3cret\x1b[31m")
    stored = path.read_text()
    assert "s3cret-s3cret" not in stored
    assert "\x1b" not in stored
    assert about(path, YIELD) is not None


def _planted(path: Path) -> None:
    content = json.loads(path.read_text())
    content["decisions"].append(content["decisions"][0] | {"sentence": PRICE.sentence, "state": PRICE.state})
    path.write_text(json.dumps(content))


def test_decisions_that_somebody_else_wrote_sign_nothing_until_they_are_adopted(path: Path) -> None:
    decide(path, YIELD)
    _planted(path)
    found = read(path)
    assert "its decisions do not count" in found.notice
    assert about(path, YIELD) is None
    with pytest.raises(WorkspaceError, match="do not count"):
        decide(path, PRICE)
    adopt(path)
    assert read(path).notice == ""
    assert about(path, YIELD) is not None


def test_decisions_about_another_report_are_not_taken_for_this_one(path: Path) -> None:
    decide(path, YIELD)
    path.rename(path.parents[1] / ledger_path("work_products/other.md"))
    other = Ledger(path.parents[1], "work_products/other.md").read()
    assert other.listed([YIELD])[0].decision is None
    assert other.notice


def test_a_damaged_file_is_reported_and_not_overwritten(path: Path) -> None:
    path.write_text("{")
    with pytest.raises(WorkspaceError, match="correct it or move it elsewhere"):
        decide(path, YIELD)
    assert path.read_text() == "{"


@pytest.mark.parametrize("why", ["No space left on device", "Read-only file system"])
def test_where_nothing_can_be_written_the_earlier_decisions_stay(
    path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    decide(path, YIELD)
    stored = path.read_bytes()

    def write(*_: object) -> None:
        raise WorkspaceError(f"cannot write '{path.name}': {why}")

    with monkeypatch.context() as patched:
        patched.setattr(Root, "write", write)
        with pytest.raises(
            WorkspaceError, match=f"{why}; check the disk and the permissions of .*report_checks"
        ):
            decide(path, PRICE, answer="rejected")
    assert path.read_bytes() == stored
    assert signed(path, YIELD, PRICE) == "Signed: 1 of 2 accepted, 1 open"


# Second opinions


def judge(path: Path, *claims: Claim) -> None:
    (question,) = questions_about(claims, REDACTOR)
    reply = [{"id": n, "opinion": "agrees", "words": "nine percent"} for n in range(len(claims))]
    found = read_reply(question, claims, json.dumps({"opinions": reply}))
    opinions = Opinions(at=NOON, model="haiku", cost_usd=0.02, opinions=tuple(found))
    Ledger(path.parents[1], REPORT).add(opinions, REDACTOR)


def with_passage(sentence: str = "Prices rose by 23 percent.", passage: str = "by nine percent") -> Claim:
    return Claim(
        kind="figure", state="differs", quote=TextQuote("23 percent"), sentence=sentence,
        passages=(Passage(source=0, text=passage),),
    )  # fmt: skip


def verdicts(path: Path, *claims: Claim) -> list[str | None]:
    return [each.opinion.verdict if each.opinion is not None else None for each in read(path).listed(claims)]


def test_an_opinion_is_about_a_sentence_and_its_passages(path: Path) -> None:
    assert verdicts(path, with_passage()) == [None]
    judge(path, with_passage())
    assert verdicts(path, with_passage()) == ["agrees"]
    changed = with_passage("Prices fell by 23 percent."), with_passage(passage="Another.")
    assert verdicts(path, *changed) == [None, None]


def test_opinions_and_decisions_are_stored_masked_in_one_file_and_adopted_together(path: Path) -> None:
    secret = with_passage("It rose by 23 percent (s3cret-s3cret).")
    decide(path, YIELD)
    judge(path, with_passage(), secret)
    decide(path, PRICE, answer="rejected")
    text = path.read_text()
    assert "s3cret" not in text
    assert verdicts(path, with_passage()) == ["agrees"]
    assert signed(path, YIELD, PRICE) == "Signed: 1 of 2 accepted, 1 rejected"
    path.write_text(text.replace('"agrees"', '"contradicts"'))
    assert verdicts(path, with_passage()) == [None]
    with pytest.raises(WorkspaceError, match="do not count"):
        judge(path, with_passage())
    assert read_content(path) == (2, 2, False)
    adopt(path)
    assert read_content(path) == (2, 2, True)
    assert verdicts(path, with_passage()) == ["contradicts"]
