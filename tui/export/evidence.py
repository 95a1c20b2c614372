"""Writes the check of a report as HTML: the claims to look at beside what the sources have, decisions, references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ua_tui.core.claims.description import (
    DescribedPassage,
    Description,
    Piece,
    describe_claim,
    source_facts,
)
from ua_tui.core.claims.ledger import ListedClaim
from ua_tui.core.claims.records import Source
from ua_tui.core.text import clean_line
from ua_tui.observers.decoding.urls import host_of
from ua_tui.tui.export.marks import noted
from ua_tui.tui.export.markup import element, escaped, facts, link
from ua_tui.tui.export.prose import Look
from ua_tui.tui.export.records import Export
from ua_tui.tui.viewers.claims.marks import count_states, sign_of

_LONGEST_TIP = 400
_MARKS = (
    "In the margin of the report: ✗ a source says something else, or the link was never seen; ? no source has it. "
    "The numbers are those of the list below."
)
_PASSAGES, _MANY = 4, 500
"""How many passages a claim has in the list, and from how many claims on there is only one."""


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
        self.listed = [number for number in shown if _is_listed(self.claims[number])]
        self.others = sorted({*shown} - {*self.listed})
        doubtful = [number for number in self.listed if self.claims[number].is_doubtful]
        self.places = Counter({number: place for place, number in enumerate(doubtful, 1)})
        self.doubts = count_states(self.claims[number] for number in doubtful)

    def signers(self) -> str:
        """Who decided, and when last."""
        found = sorted((each.decision.at, each.decision.by) for each in self.claims if each.decision)
        last = {by: at for at, by in found}
        return ", ".join(f"{by} {at:%Y-%m-%d %H:%M} UTC" for by, at in last.items())

    def look(self, number: int) -> Look:
        """How a claim is shown in the report."""
        told, sign = self.told(number), sign_of(self.claims[number])
        parts = [f"{sign.character} {state_of(told)}"]
        for first in told.passages[:1]:
            parts.append(f"“{clean_line(first.text, _LONGEST_TIP - 150)}”")
            parts.append(", ".join(filter(None, (first.title, host_of(first.url)))))
        mark = f"{sign.character} {self.places[number]}" if self.places[number] else ""
        return Look(sign.style, clean_line(" — ".join(parts), _LONGEST_TIP), mark)

    def told(self, number: int) -> Description:
        """What is said of a claim."""
        return describe_claim(self.claims[number], self._export.sources)

    def section(self, placed: frozenset[int]) -> str:
        """The section; claims that are `placed` in the report link to it."""
        check = self._export.check
        if check is None:
            return ""
        parts = [element("p", escaped(check.summary), class_="verdicts")]
        if check.signed:
            parts.append(element("p", f"<b>{escaped(check.signed)}</b> · {escaped(self.signers())}"))
        if check.second_opinion:
            parts.append(element("p", f"{escaped(check.second_opinion)}. Opinions change no state."))
        if self.listed:
            heading = f"To look at: {self.doubts}" if self.doubts else "Rejected, or with a note"
            parts.append(element("h3", escaped(heading)))
            parts.append(_from(_MARKS) if self.doubts else "")
            parts.append(self._list(self.listed, placed))
        else:
            parts.append("<p>No claim is doubtful.</p>")
        if self.others:
            others = count_states(self.claims[number] for number in self.others)
            named = element("summary", f"Other claims: {others}")
            parts.append(element("details", named + self._list(self.others, placed)))
        return "".join(parts)

    def _list(self, numbers: Sequence[int], placed: frozenset[int]) -> str:
        most = _PASSAGES if len(self.claims) <= _MANY else 1
        items = "".join(self._item(number, most, number in placed) for number in numbers)
        return element("ol", items, class_="claims")

    def _item(self, number: int, most: int, is_placed: bool) -> str:
        claim, told = self.claims[number], self.told(number)
        sign = sign_of(claim)
        count = f"{place}. " if (place := self.places[number]) else ""
        state = f'{count}<span aria-hidden="true">{sign.character}</span> {escaped(state_of(told))}'
        head = facts(
            [
                element("span", state, class_=f"verdict {sign.style}"),
                claim.kind,
                escaped(told.section),
                element("a", "show in the report", href=f"#m{number}") if is_placed else "",
            ]
        )
        said = element("p", _html(told.said), class_="sentence")
        said += _from(escaped(told.address)) if told.address else ""
        sides = f"<div><h4>In the report</h4>{said}</div>"
        if told.passages:
            passages = "".join(map(_passage, told.passages[:most]))
            sides += f"<div><h4>{told.heading}</h4>{passages}</div>"
        judged = "".join(element("p", escaped(each), class_="judged") for each in told.judged)
        body = f'<p class="head">{head}</p><div class="sides">{sides}</div>{judged}'
        return element("li", body, id=f"e{number}", class_=sign.style)


def _passage(passage: DescribedPassage) -> str:
    headers = _from(escaped(passage.headers)) if passage.headers else ""
    text = element("p", _html(passage.pieces), class_="passage") if passage.text else ""
    named = [link(passage.url, passage.title), escaped(host_of(passage.url)), *map(escaped, passage.facts)]
    return headers + text + _from(facts(named))


def _from(content: str) -> str:
    return element("p", content, class_="from")


def _is_listed(claim: ListedClaim) -> bool:
    decided = claim.decision
    return claim.is_doubtful or bool(decided and (decided.answer == "rejected" or decided.note))


def state_of(told: Description) -> str:
    """The state of a claim in words, and why: "differs. The source has 41 percent."."""
    return f"{told.state}. {told.why}" if told.why else told.state


def references_list(references: Sequence[Source]) -> str:
    """The cited sources, numbered; empty if there are none."""
    items = ""
    for each in references:
        title = link(each.url, clean_line(each.title or each.url, 300))
        digest = element("code", escaped(each.sha256))
        lines = [escaped(each.url), f"SHA-256 {digest}" if each.sha256 else ""]
        below = "".join(element("span", line, class_="from") for line in lines if line)
        items += element(
            "li", facts([title, escaped(host_of(each.url)), *map(escaped, source_facts(each))]) + below
        )
    return element("ol", items, class_="references") if items else ""


def _html(pieces: Sequence[Piece]) -> str:
    return "".join(
        element("mark", escaped(piece.text)) if piece.is_marked else escaped(piece.text) for piece in pieces
    )
