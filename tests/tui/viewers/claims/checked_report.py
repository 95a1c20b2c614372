"""A session with a report and its check, for the tests of what is shown of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ua_tui.core.claims.files import ReportCheck, check_path
from ua_tui.core.claims.ledger import Answer, Ledger
from ua_tui.core.claims.records import Check, Claim, Passage, Source, TextQuote
from ua_tui.core.redaction.redactor import Redactor

REPORT = "work_products/report.html"
ARTICLE = "extracted_articles/h200.md"
PASSAGE = "The H200 has 141 GB of memory, and shipments grew by nine percent in the third quarter."
SAID = "He said: “Customers wait in long lines.”"
HTML = """<!doctype html><title>AI chips</title><h1>AI chips</h1>
<p>The H200 has <b>141 GB</b> of memory. Shipments grew by 23 percent, and 71 percent are expected.</p>
<p>“Customers are waiting in line”, says <a href="https://invented.example/r">the supply report</a>.</p>
<table><tr><th>Part</th><th>Memory</th></tr><tr><td>H200</td><td>141</td></tr><tr><td>B200</td><td>192</td></tr></table>
<p>Nothing to check in this paragraph.</p>
<p>That is 51 GB less than 192, too.</p>
"""
GREW = "Shipments grew by 23 percent, and 71 percent are expected."
CLAIMS = (
    Claim(
        kind="figure",
        state="found",
        quote=TextQuote("141 GB", "The H200 has ", " of memory."),
        sentence="The H200 has 141 GB of memory.",
        section="AI chips",
        passages=(Passage(source=0, text=PASSAGE, quote=TextQuote("141 GB")),),
    ),
    Claim(
        kind="figure",
        state="differs",
        quote=TextQuote("23 percent", "grew by "),
        sentence=GREW,
        section="AI chips",
        passages=(Passage(source=0, text=PASSAGE, quote=TextQuote("nine percent")),),
        instead="nine percent",
        note="The source says nine percent.",
    ),
    Claim(kind="figure", state="not found", quote=TextQuote("71 percent"), sentence=GREW),
    Claim(
        kind="quotation",
        state="differs",
        quote=TextQuote("Customers are waiting in line"),
        sentence="“Customers are waiting in line”, says the supply report.",
        passages=(Passage(source=0, text=SAID, quote=TextQuote("Customers wait in long lines")),),
        instead="Customers wait in long lines",
    ),
    Claim(
        kind="link",
        state="never seen",
        quote=TextQuote("the supply report"),
        sentence="“Customers are waiting in line”, says the supply report.",
        url="https://invented.example/r",
    ),
    Claim(kind="figure", state="found", quote=TextQuote("141", "H200 "), sentence="H200 141"),
    Claim(kind="figure", state="not found", quote=TextQuote("192", "B200 "), sentence="B200 192"),
    Claim(
        kind="figure",
        state="calculated",
        quote=TextQuote("51 GB", "That is "),
        sentence="That is 51 GB less than 192, too.",
        formula="192 − 141 = 51",
    ),
)
SOURCE = Source(
    kind="article",
    title="H200 in detail",
    url="https://news.example/h200",
    path=ARTICLE,
    read_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
)


def write_session(
    base: Path, report: str = HTML, claims: Sequence[Claim] = CLAIMS, *, name: str = REPORT
) -> Path:
    """Write a session with a report, its check and its source; return its folder."""
    session = base / "AGENT_RUN_WORKSPACES" / "session_20261124_020000"
    for folder in ("work_products", "extracted_articles", "report_checks"):
        (session / folder).mkdir(parents=True, exist_ok=True)
    (session / "journal.jsonl").touch()
    (session / name).write_text(report, encoding="utf-8")
    (session / ARTICLE).write_text(f"{'before' + chr(10) * 2}" * 60 + PASSAGE + "\n\nafter" * 60, "utf-8")
    digest = hashlib.sha256(report.encode()).hexdigest()
    check = ReportCheck(report=name, sha256=digest, check=Check(claims=tuple(claims)), sources=(SOURCE,))
    (session / check_path(name)).write_bytes(msgspec.json.encode(check))
    return session


def decisions_in(session: Path, claims: Sequence[Claim] = CLAIMS) -> list[tuple[Answer | None, str]]:
    """The answer and the note of each claim, as they are stored."""
    listed = Ledger(session, REPORT).read().listed(claims)
    return [(each.answer, each.decision.note if each.decision is not None else "") for each in listed]


def decide(session: Path, numbers: Sequence[int], answer: Answer) -> None:
    """Store an answer about some claims."""
    Ledger(session, REPORT).decide(CLAIMS, numbers, answer, Redactor(), by="ada")


def save_copy(session: Path) -> Path:
    """Copy the report to the saved reports beside the session."""
    reports = session.parent.parent / "SAVED_REPORTS"
    reports.mkdir()
    copy = reports / "report_20261124_021500.html"
    copy.write_bytes((session / REPORT).read_bytes())
    entry = {"saved_as": copy.name, "source": REPORT, "session": session.name}
    (reports / "index.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    return copy
