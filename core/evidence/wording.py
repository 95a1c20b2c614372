"""The words for a check: its summary in one line, and the names of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from core.evidence.records import Claim, Kind, ReportCheck, Verdict

__all__ = ["NAMES", "finding", "summary"]

NAMES: Mapping[Verdict, str] = {
    Verdict.READ: "read",
    Verdict.SEEN: "seen, not read",
    Verdict.EARLIER: "read by an earlier session",
    Verdict.LOCAL: "a file of the session",
    Verdict.INVENTED: "never seen",
    Verdict.VERBATIM: "verbatim",
    Verdict.MISATTRIBUTED: "in another source",
    Verdict.ALTERED: "altered",
    Verdict.NOT_FOUND: "not found",
    Verdict.TRACED: "traced",
    Verdict.CONVERTED: "rounded or converted",
    Verdict.DERIVED: "derived",
    Verdict.OTHER_SOURCE: "in another source",
    Verdict.UNTRACED: "untraced",
    Verdict.FOUND: "found",
    Verdict.LOOK: "look",
    Verdict.UNCHECKED: "not checked",
}
_FINDINGS: Mapping[Verdict, str] = {
    Verdict.INVENTED: "this session has never seen that address",
    Verdict.MISATTRIBUTED: "the cited source does not have it, another one does",
    Verdict.ALTERED: "a source has similar words, but not these",
    Verdict.NOT_FOUND: "no source that was read has these words",
    Verdict.UNTRACED: "no source that was read gives it",
}
_ORDER = tuple(Verdict)
_NOUNS: Mapping[Kind, tuple[str, str]] = {
    "figure": ("figure", "figures"),
    "quotation": ("quotation", "quotations"),
    "link": ("link", "links"),
}


def summary(check: ReportCheck) -> str:
    """Say what was found, such as "61 figures: 55 traced, 3 untraced · 9 quotations verbatim · 14 of 14 links read".

    Names are left out, as nothing is ever wrong with them.
    """
    parts = [part for kind in _NOUNS if (part := _part(check, kind))]
    return " · ".join(parts) or "nothing to check: no figures, quotations or links"


def finding(claim: Claim) -> str:
    """Say in a sentence why nothing supports a claim: the check's own note, else what the verdict means."""
    return claim.note or _FINDINGS.get(claim.verdict, NAMES[claim.verdict])


def _part(check: ReportCheck, kind: Kind) -> str:
    counts = {verdict: count for (of, verdict), count in check.counts().items() if of == kind}
    total = sum(counts.values())
    if not total:
        return ""
    noun = _NOUNS[kind][total != 1]
    if len(counts) == 1:
        (verdict,) = counts
        if kind == "link":
            return f"{total} of {total} {noun} {NAMES[verdict]}"
        return f"{total} {noun} {NAMES[verdict]}"
    named = ", ".join(f"{counts[verdict]:,} {NAMES[verdict]}" for verdict in _ORDER if verdict in counts)
    return f"{total:,} {noun}: {named}"
