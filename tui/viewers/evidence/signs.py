"""The signs of verdicts: one cell each, and different without colour."""

from __future__ import annotations

from collections.abc import Mapping

from ua_tui.core.evidence.records import Claim, Level, Verdict

SIGNS: Mapping[Verdict, str] = {
    Verdict.READ: "✓",
    Verdict.EARLIER: "✓",
    Verdict.LOCAL: "✓",
    Verdict.VERBATIM: "✓",
    Verdict.TRACED: "✓",
    Verdict.FOUND: "✓",
    Verdict.CONVERTED: "≈",
    Verdict.DERIVED: "=",
    Verdict.OTHER_SOURCE: "↗",
    Verdict.MISATTRIBUTED: "⇄",
    Verdict.ALTERED: "≠",
    Verdict.UNTRACED: "?",
    Verdict.NOT_FOUND: "?",
    Verdict.INVENTED: "✗",
    Verdict.SEEN: "◌",
    Verdict.LOOK: "◇",
    Verdict.UNCHECKED: "–",
}
SUSPICIOUS = "!"
"""The sign of a claim that is supported but has a remark, such as invisible characters."""

LEGEND = (
    ("✓", "in a report: traced, verbatim, read"),
    ("≈, =", "rounded or converted; derived"),
    ("↗, ◌", "in another source; link seen, not read"),
    ("≠, ⇄", "quotation altered; in another source"),
    ("?, ✗", "found in no source; link never seen"),
    ("◇, –, !", "name to look at; not checked; suspicious"),
)
_ORDER = (
    *(Verdict.INVENTED, Verdict.ALTERED, Verdict.UNTRACED, Verdict.NOT_FOUND, Verdict.MISATTRIBUTED),
    *(Verdict.OTHER_SOURCE, Verdict.SEEN, Verdict.UNCHECKED, Verdict.LOOK),
    *(Verdict.DERIVED, Verdict.CONVERTED),
)
_RANKS = {verdict: rank for rank, verdict in enumerate(_ORDER)}
_OF_REMARK = _RANKS[Verdict.OTHER_SOURCE]


def sign_of(claim: Claim) -> str:
    """The sign of a claim."""
    return SUSPICIOUS if claim.remarks and claim.level is Level.SUPPORTED else SIGNS[claim.verdict]


def severity(claim: Claim) -> int:
    """The rank of a claim among others; the worst has the lowest."""
    rank = _RANKS.get(claim.verdict, len(_RANKS))
    return min(rank, _OF_REMARK) if claim.remarks else rank


def role_of(claim: Claim) -> str:
    """The style of a claim and its sign."""
    return Level.LOOK if claim.remarks and claim.level is Level.SUPPORTED else claim.level
