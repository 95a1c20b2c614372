"""The words for a check: its summary in one line, and the names of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from ua_tui.core.evidence.records import Claim, Kind, ReportCheck, Verdict

NOT_READ = "Not read: "
"""How the notice begins that names the parts of a report in which nothing was checked."""
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
    Verdict.LOOK: "in no source",
    Verdict.UNCHECKED: "not checked",
}
_MEANINGS: Mapping[Verdict, str] = {
    Verdict.READ: "The session read this page.",
    Verdict.SEEN: "The session saw this address in a search result or another page, and did not read it.",
    Verdict.EARLIER: "An earlier session read this page.",
    Verdict.LOCAL: "This is a file of the session.",
    Verdict.INVENTED: "Nothing that the session read or found has this address.",
    Verdict.VERBATIM: "The source has these words.",
    Verdict.MISATTRIBUTED: "Another source has these words, not the one that is cited.",
    Verdict.ALTERED: "A source has similar words, not these.",
    Verdict.NOT_FOUND: "No source has these words.",
    Verdict.TRACED: "The source has this figure.",
    Verdict.CONVERTED: "A source has this figure, rounded or in another unit.",
    Verdict.DERIVED: "This follows from other figures.",
    Verdict.OTHER_SOURCE: "A source that is not cited here has this figure.",
    Verdict.UNTRACED: "No source has this figure.",
    Verdict.FOUND: "A source has this name.",
    Verdict.LOOK: "No source has this name as it is written here.",
    Verdict.UNCHECKED: "This could not be checked.",
}
_NOTHING = "nothing to check: no figures, quotations or links"
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
    unread = next((each.rstrip(".") for each in check.notices if each.startswith(NOT_READ)), "")
    nothing = f"no figures, quotations or links in what was read. {unread}" if unread else _NOTHING
    return " · ".join(parts) or nothing


def finding(claim: Claim) -> str:
    """Say in sentences why a claim has its verdict: the check's own note, else what the verdict means."""
    return claim.note or meaning(claim)


def meaning(claim: Claim) -> str:
    """Say in a sentence what the verdict means, without the note, which may quote pages and tools."""
    return _MEANINGS[claim.verdict]


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
