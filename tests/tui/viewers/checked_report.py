"""A session with a report and its check, for the tests of the evidence."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ua_tui.core.evidence.files import check_path
from ua_tui.core.evidence.records import Claim, Disagreement, Evidence, Kind, ReportCheck, Source, Verdict

REPORT = "work_products/report.html"
ARTICLE = "extracted_articles/h200.md"
PASSAGE = "The H200 has 141 GB of memory, and shipments grew by 58 percent in the third quarter."
HTML = """<!doctype html><title>AI chips</title><h1>AI chips</h1>
<p>The H200 has <b>141 GB</b> of memory. Shipments grew by 58 percent, and 71 percent are expected.</p>
<p>“Customers are waiting in line”, says <a href="https://invented.example/r">the supply report</a>.</p>
<table><tr><th>Part</th><th>Memory</th></tr><tr><td>H200</td><td>141</td></tr><tr><td>B200</td><td>192</td></tr></table>
<p>Nothing to check in this paragraph.</p>
<p>The yield was 58 percent, too.</p>
"""
CLAIMS: Sequence[tuple[Kind, Verdict, str, int]] = (
    ("figure", Verdict.TRACED, "141 GB", 0),
    ("figure", Verdict.OTHER_SOURCE, "58 percent", 0),
    ("figure", Verdict.UNTRACED, "71 percent", 0),
    ("quotation", Verdict.ALTERED, "Customers are waiting in line", 0),
    ("link", Verdict.INVENTED, "the supply report", 0),
    ("figure", Verdict.TRACED, "141", 1),
    ("figure", Verdict.UNTRACED, "192", 0),
    ("figure", Verdict.DERIVED, "58 percent", 1),
)


def blocks_in(html: str) -> list[tuple[str, list[int]]]:
    """The text of each block of a page, with the place of every character in its source."""
    blocks: list[tuple[str, list[int]]] = [("", [])]
    for match in re.finditer(r"<(/?\w+)[^>]*>|.", html, re.DOTALL):
        text, places = blocks[-1]
        if match[1] is None:
            blocks[-1] = (text + match[0], [*places, match.start()])
        elif match[1].strip("/") not in {"a", "b"}:
            blocks.append(("", []))
    return [(text, places) for text, places in blocks if text.strip()]


def claims_in(html: str, found: Sequence[tuple[Kind, Verdict, str, int]] = CLAIMS) -> tuple[Claim, ...]:
    """Claims at the n-th place of their text in a report."""
    claims = []
    for number, (kind, verdict, text, nth) in enumerate(found, 1):
        every = [
            (block, places, match.start())
            for block, places in blocks_in(html)
            for match in re.finditer(re.escape(text), block)
        ]
        sentence, places, begin = every[nth]
        at = PASSAGE.find(text)
        marks = ((at, at + len(text)),)
        evidence = Evidence(source=0, start=at, end=at + len(text), passage=PASSAGE, marks=marks)
        claims.append(Claim(
            id=number, kind=kind, verdict=verdict, text=text, start=places[begin],
            end=places[begin + len(text) - 1] + 1, sentence=sentence, at=begin, section="AI chips",
            evidence=(evidence,) if at >= 0 else (),
        ))  # fmt: skip
    return tuple(claims)


def write_session(base: Path, html: str = HTML, claims: Sequence[Claim] | None = None) -> Path:
    """Write a session with a report, its check and its source; return its folder."""
    session = base / "AGENT_RUN_WORKSPACES" / "session_20261124_020000"
    for folder in ("work_products", "extracted_articles", "report_checks"):
        (session / folder).mkdir(parents=True, exist_ok=True)
    (session / "journal.jsonl").touch()
    (session / REPORT).write_text(html, encoding="utf-8")
    (session / ARTICLE).write_text("before\n\n" * 60 + PASSAGE + "\n\nafter" * 60, encoding="utf-8")
    found = tuple(claims_in(html) if claims is None else claims)
    source = Source(
        kind="article", title="H200 in detail", url="https://news.example/h200", path=ARTICLE,
        read_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    )  # fmt: skip
    disagreement = Disagreement(
        subject="growth of shipments", values=("58 percent", "61 percent"), claims=(2,),
        evidence=(Evidence(source=0), Evidence(source=0)),
    )  # fmt: skip
    digest = hashlib.sha256(html.encode()).hexdigest()
    check = ReportCheck(
        report=REPORT, sha256=digest, claims=found, sources=(source,), disagreements=(disagreement,)
    )
    (session / check_path(REPORT)).write_bytes(msgspec.json.encode(check))
    return session


def save_copy(session: Path) -> Path:
    """Copy the report to the saved reports beside the session."""
    reports = session.parent.parent / "SAVED_REPORTS"
    reports.mkdir()
    copy = reports / "report_20261124_021500.html"
    copy.write_bytes((session / REPORT).read_bytes())
    entry = {"saved_as": copy.name, "source": REPORT, "session": session.name}
    (reports / "index.jsonl").write_text(json.dumps(entry) + "\n", encoding="utf-8")
    return copy
