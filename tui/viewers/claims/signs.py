"""The signs and styles of the states of claims: one cell each, and different without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ua_tui.core.claims.records import RISK, Claim, State


class Sign(NamedTuple):
    """How a state is shown: a character, the style of the claim, and the role of the sign in a text."""

    character: str
    style: str
    role: str


SIGNS: Mapping[State, Sign] = {
    "differs": Sign("✗", "wrong", "bad"),
    "never seen": Sign("✗", "wrong", "bad"),
    "not found": Sign("?", "doubtful", "warn"),
    "calculated": Sign("=", "found", "dim"),
    "found": Sign("·", "found", "dim"),
    "not looked at": Sign("–", "found", "dim"),
}
STYLES = ("wrong", "doubtful", "found")


def sign_of(claim: Claim) -> Sign:
    """The sign of a claim."""
    return SIGNS[claim.state]


def risk_of(claim: Claim) -> int:
    """The rank of a claim among others: the riskiest has the lowest."""
    return RISK.index(claim.state)


def count_states(claims: Iterable[Claim]) -> str:
    """How many claims have each state, in the order of the claims: "1 differs, 2 not found"."""
    return ", ".join(f"{count:,} {state}" for state, count in Counter(each.state for each in claims).items())
