"""A checked report as the command line and the export write it: its claims with what a person and a model said."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, Self

import msgspec

from ua_tui.core.claims.decisions import Decision, Decisions
from ua_tui.core.claims.files import CheckedSource, ReportCheck, SourceKind
from ua_tui.core.claims.opinion import Opinion, Opinions
from ua_tui.core.claims.records import Claim
from ua_tui.core.events.units import quantity

NOUNS: dict[SourceKind, tuple[str, str]] = {
    "article": ("page", "pages"), "earlier": ("page of an earlier session", "pages of earlier sessions"),
    "search_row": ("search row", "search rows"), "run": ("run in the sandbox", "runs in the sandbox"),
    "result": ("result of a tool", "results of tools"), "file": ("file", "files"),
}  # fmt: skip
"""What was compared, by its kind, in the order of its weight; from queries only the addresses count."""


class ListedClaim(Claim, frozen=True, kw_only=True, omit_defaults=True):
    """A claim with the decision and the second opinion about it, if there are any."""

    decision: Decision | None = None
    opinion: Opinion | None = None


class CheckedReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The check of one report.

    Attributes:
        file: the file as it was given; `report` is its path in its session, or its name.
        session: the name of the session with which it was compared; empty if files were given.
        compared_with: how many sources of each kind there were, in words.
        signed: how many claims a person decided, in words; `second_opinion` what the model said.
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
    second_opinion: str = ""
    notices: tuple[str, ...] = ()
    claims: tuple[ListedClaim, ...] = ()
    sources: tuple[CheckedSource, ...] = ()

    @classmethod
    def of(
        cls,
        file: str,
        session: str,
        made: ReportCheck,
        decisions: Decisions | None,
        opinions: Opinions | None,
    ) -> Self:
        """Bring a check together with the decisions and opinions about it."""
        claims, check = made.claims, made.check
        decided = decisions.of(claims) if decisions is not None else [None] * len(claims)
        judged = opinions.of(claims) if opinions is not None else [None] * len(claims)
        counts = Counter(source.kind for source in made.sources)
        more = (each.notice for each in (decisions, opinions) if each is not None and each.notice)
        return cls(
            file=file,
            report=made.report,
            sha256=made.sha256,
            summary=check.summary,
            red=len(check.red),
            title=check.title,
            session=session,
            checked_at=made.checked_at,
            compared_with=", ".join(quantity(counts[each], *NOUNS[each]) for each in NOUNS if counts[each]),
            signed=decisions.summary(claims) if decisions is not None else "",
            second_opinion=opinions.summary(claims) if opinions is not None else "",
            notices=(*check.notices, *more),
            claims=tuple(
                ListedClaim(**msgspec.structs.asdict(claim), decision=decision, opinion=opinion)
                for claim, decision, opinion in zip(claims, decided, judged, strict=True)
            ),
            sources=made.sources,
        )


def check_schema() -> dict[str, Any]:
    """The JSON Schema of the output with `--json`: a list of reports."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Checked reports",
        **msgspec.json.schema(list[CheckedReport]),
    }
