"""What changed between the claims of two reports about the same question."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

import msgspec

from ua_tui.core.claims.records import Claim

_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_ALIKE = 0.5
"""The share of the words of two sentences that they have in common, from which they are about the same thing."""


class ClaimChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The figures and quotations of a report against those of an earlier one.

    `same` and `changed` are pairs of an earlier claim and the one in its place: of equal words, or of others.
    """

    new: tuple[Claim, ...] = ()
    gone: tuple[Claim, ...] = ()
    changed: tuple[tuple[Claim, Claim], ...] = ()
    same: tuple[tuple[Claim, Claim], ...] = ()

    @property
    def judged(self) -> tuple[tuple[Claim, Claim], ...]:
        """The pairs of equal words of which the check says something else."""
        return tuple(pair for pair in self.same if pair[0].state != pair[1].state)


def compare_claims(before: Iterable[Claim], after: Iterable[Claim]) -> ClaimChanges:
    """Compare the claims of two reports; links are left out.

    Claims of equal words in alike sentences are the same. Of the others those whose sentences are alike are one claim
    that changed, the most alike first.
    """
    old, new = ([claim for claim in claims if claim.kind != "link"] for claims in (before, after))
    earlier: dict[int, int] = {}
    later: dict[int, int] = {}
    # Equal ones are taken first: among thousands of alike sentences there are millions of pairs.
    places = defaultdict[tuple[str, str, frozenset[str]], list[int]](list)
    for left in reversed(range(len(old))):
        places[_said(old[left])].append(left)
    for right, claim in enumerate(new):
        if known := places[_said(claim)]:
            earlier[right] = known.pop()
            later[earlier[right]] = right
    alike = _alike(old, new, {*later}, {*earlier})
    for _, left, right in sorted(alike, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if left not in later and right not in earlier:
            earlier[right], later[left] = left, right
    pairs = [(old[left], new[right]) for right, left in sorted(earlier.items())]
    return ClaimChanges(
        new=tuple(claim for at, claim in enumerate(new) if at not in earlier),
        gone=tuple(claim for at, claim in enumerate(old) if at not in later),
        changed=tuple(pair for pair in pairs if _exact(pair[0]) != _exact(pair[1])),
        same=tuple(pair for pair in pairs if _exact(pair[0]) == _exact(pair[1])),
    )


def _alike(
    old: Sequence[Claim], new: Sequence[Claim], taken_before: Set[int], taken_after: Set[int]
) -> Iterator[tuple[float, int, int]]:
    """The pairs of the others whose sentences are alike, and how much; equal words count more than any others."""
    words = [_words(claim) for claim in old]
    having = defaultdict[tuple[str, str], list[int]](list)
    for left, before in enumerate(old):
        for word in words[left] if left not in taken_before else ():
            having[before.kind, word].append(left)
    for right, after in enumerate(new):
        own = _words(after)
        shared = Counter[int]()
        for word in own if right not in taken_after else ():
            shared.update(having.get((after.kind, word), ()))
        for left, both in shared.items():
            share = both / (len(words[left]) + len(own) - both)
            if share >= _LEAST_ALIKE:
                yield share + (_exact(old[left]) == _exact(after)), left, right


def _said(claim: Claim) -> tuple[str, str, frozenset[str]]:
    return claim.kind, _exact(claim), _words(claim)


def _words(claim: Claim) -> frozenset[str]:
    """The words around a claim in its sentence; one that is empty if there are none."""
    around = claim.sentence.replace(claim.quote.exact, " ")
    return frozenset(word.casefold() for word in _WORD.findall(around)) or frozenset({""})


def _exact(claim: Claim) -> str:
    return " ".join(claim.quote.exact.split()).casefold()
