"""The check of a report as an export lists it: the claims to look at first, and what is said of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ua_tui.core.claims.description import ClaimDescription, describe_claim
from ua_tui.core.claims.ledger import ListedClaim
from ua_tui.core.text import clean_line
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.export.marks import noted
from ua_tui.tui.export.prose import Look
from ua_tui.tui.export.records import Export
from ua_tui.tui.viewers.claims.marks import SIGNS, count_states

_LONGEST_TIP = 400


class Evidence:
    """The claims of an export in the order in which they are listed, and what is said of each.

    Attributes:
        claims: those of the check, in the order of the report.
        listed: the numbers of those that a person should look at, or has rejected or noted, the riskiest first.
        others: the numbers of the others, in the order of the report.
        places: the numbers from 1 by which marks of doubtful claims lead to the list; 0 for other claims.
        doubts: how many claims are doubtful: "1 differs, 2 not found"; empty if none is.
        notices: sentences about what is missing or cut, and what limits the check.
    """

    def __init__(self, export: Export) -> None:
        check = export.check
        self.claims: Sequence[ListedClaim] = check.claims if check is not None else ()
        limits = (*check.notices, check.unsigned) if check is not None else ()
        self.notices = [each for each in dict.fromkeys((*export.notices, *limits)) if each]
        self._export = export
        shown = noted(self.claims)
        self.listed = [
            number
            for number in shown
            if (claim := self.claims[number]).is_doubtful
            or (claim.decision and (claim.answer == "rejected" or claim.decision.note))
        ]
        self.others = sorted({*shown} - {*self.listed})
        doubtful = [number for number in self.listed if self.claims[number].is_doubtful]
        self.places = Counter({number: place for place, number in enumerate(doubtful, 1)})
        self.doubts = self.count(doubtful)

    def signers(self) -> str:
        """Who decided, and when last."""
        found = sorted((each.decision.at, each.decision.by) for each in self.claims if each.decision)
        last = {by: at for at, by in found}
        return ", ".join(f"{by} {at:%Y-%m-%d %H:%M} UTC" for by, at in last.items())

    def look(self, number: int) -> Look:
        """How a claim is shown in the report."""
        told = self.told(number)
        sign = SIGNS[told.state]
        parts = [f"{sign.character} {state_of(told)}"]
        for first in told.passages[:1]:
            parts.append(f"“{clean_line(first.text, _LONGEST_TIP - 150)}”")
            parts.append(", ".join(filter(None, (first.title, host_of(first.url)))))
        mark = f"{sign.character} {self.places[number]}" if self.places[number] else ""
        return Look(sign.style, clean_line(" — ".join(parts), _LONGEST_TIP), mark)

    def told(self, number: int) -> ClaimDescription:
        """What is said of a claim."""
        return describe_claim(self.claims[number], self._export.sources)

    def count(self, numbers: Iterable[int]) -> str:
        """How many of these claims have each state: "1 differs, 2 not found"."""
        return count_states(self.claims[number] for number in numbers)


def state_of(told: ClaimDescription) -> str:
    """The state of a claim in words, and why: "differs. The source has 41 percent."."""
    return f"{told.state}. {told.why}" if told.why else told.state
