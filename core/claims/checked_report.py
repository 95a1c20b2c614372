"""A checked report as it is shown, exported and printed: its claims with what a person and a model said about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

import msgspec

from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.claims.ledger import Ledger, ListedClaim
from ua_tui.core.claims.records import Claim, Source, SourceKind
from ua_tui.core.events.units import quantity, signed_of
from ua_tui.core.text import clean

NOUNS: dict[SourceKind, tuple[str, str]] = {
    "article": ("page", "pages"), "earlier": ("page of an earlier session", "pages of earlier sessions"),
    "search_row": ("search row", "search rows"), "run": ("workbench run", "workbench runs"),
    "result": ("tool result", "tool results"), "file": ("file", "files"),
}  # fmt: skip
"""What was compared, by its kind, in the order of its weight; from queries only the addresses count."""


class CheckedReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The check of one report, with the decisions and the second opinion about it.

    Attributes:
        file: the file as it was given; `report` is its path in its session, or its name.
        session: the name of the session with which it was compared; empty if files were given.
        compared_with: how many sources of each kind there were, in words.
        signed: how many claims a person decided, in words; `unsigned` why stored decisions do not count.
        second_opinion: what the model said, in words.
        red: how many claims differ or were never seen.
        claims: in the order of the report; `source` of a passage is an index of `sources`.
    """

    file: str
    report: str
    sha256: str
    summary: str
    red: int
    title: str = ""
    session: str = ""
    checked_at: datetime | None = None
    compared_with: str = ""
    signed: str = ""
    unsigned: str = ""
    second_opinion: str = ""
    notices: tuple[str, ...] = ()
    claims: tuple[ListedClaim, ...] = ()
    sources: tuple[Source, ...] = ()

    @classmethod
    def of(cls, made: ReportCheck, ledger: Ledger, *, file: str = "", session: str = "") -> Self:
        """Bring a check together with the decisions and opinions about it."""
        check, counts = made.check, Counter(source.kind for source in made.sources)
        return cls(
            file=file or made.report,
            report=made.report,
            sha256=made.sha256,
            summary=check.summary,
            red=len(check.red),
            title=check.title,
            session=session,
            checked_at=made.checked_at,
            compared_with=", ".join(quantity(counts[each], *NOUNS[each]) for each in NOUNS if counts[each]),
            notices=check.notices,
            sources=made.sources,
        ).judged(ledger, made.claims)

    @classmethod
    def read(cls, made: ReportCheck, session: Path) -> Self:
        """Bring a check together with what is stored about it in the folder of its session. Blocks."""
        return cls.of(made, Ledger(session, made.report).read(), session=session.name)

    def judged(self, ledger: Ledger, claims: Sequence[Claim] = ()) -> Self:
        """The report with the decisions and opinions of a ledger in place of those it has, and with other `claims`."""
        listed = ledger.listed(claims or self.claims)
        answers, opinions = Counter(each.answer for each in listed), ledger.opinions
        accepted, rejected = answers["accepted"], answers["rejected"]
        signed = signed_of(accepted, rejected, answers[None]) if accepted or rejected else ""
        if signed and answers[None] and all(each.answer for each in listed if each.is_doubtful):
            signed += ", none of them doubtful"
        return msgspec.structs.replace(
            self,
            claims=listed,
            signed=signed,
            unsigned=ledger.notice,
            second_opinion=opinions.summary(each.opinion for each in listed) if opinions is not None else "",
        )

    def row(self, claim: ListedClaim) -> dict[str, str]:
        """What a table says of a claim by the names of its columns, in whole texts."""
        source = self.sources[claim.passages[0].source] if claim.passages else None
        note = clean(claim.decision.note) if claim.decision is not None else ""
        return {
            "state": claim.state,
            "claim": clean(claim.quote.exact),
            "decision": ": ".join(filter(None, (claim.answer or "open", note))),
            "sentence": clean(claim.sentence),
            "opinion": claim.opinion.verdict if claim.opinion is not None else "",
            "source": clean(source.name) if source is not None else "",
            "read": f"{source.read_at:%Y-%m-%d}" if source is not None and source.read_at is not None else "",
            "kind": claim.kind,
        }

    @property
    def doubtful(self) -> tuple[ListedClaim, ...]:
        """The claims that a person should look at, the riskiest first."""
        found = (claim for claim in self.claims if claim.is_doubtful)
        return tuple(sorted(found, key=lambda claim: claim.risk))


CheckedReports = list[CheckedReport]
"""What the command writes with `--json`."""
