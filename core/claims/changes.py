"""What changed between the claims of two reports about the same question."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

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
    taken: tuple[set[int], set[int]] = (set(), set())
    paired: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    # What is equal is taken before alike ones are searched.
    for _, left, right in chain(_equal(old, new), _alike(old, new, taken)):
        if left not in taken[0] and right not in taken[1]:
            taken[0].add(left)
            taken[1].add(right)
            paired[_exact(old[left]) == _exact(new[right])].append((left, right))
    same, changed = (
        tuple((old[left], new[right]) for left, right in sorted(paired[is_same], key=lambda pair: pair[1]))
        for is_same in (True, False)
    )
    return ClaimChanges(
        new=tuple(claim for at, claim in enumerate(new) if at not in taken[1]),
        gone=tuple(claim for at, claim in enumerate(old) if at not in taken[0]),
        changed=changed,
        same=same,
    )


def _equal(old: Sequence[Claim], new: Sequence[Claim]) -> Iterator[tuple[float, int, int]]:
    """The pairs with the same words, which need no search for alike ones, in the order of both."""
    places = defaultdict[tuple[str, str, frozenset[str]], list[int]](list)
    for left in reversed(range(len(old))):
        places[old[left].kind, _exact(old[left]), _words(old[left])].append(left)
    for right, after in enumerate(new):
        if known := places.get((after.kind, _exact(after), _words(after))):
            yield 2.0, known.pop(), right


def _alike(
    old: Sequence[Claim], new: Sequence[Claim], taken: tuple[set[int], set[int]]
) -> Iterator[tuple[float, int, int]]:
    """The pairs of the others whose sentences are alike, the most alike first; equal words come before others."""
    words = [[_words(claim) for claim in claims] for claims in (old, new)]
    having = defaultdict[tuple[str, str], list[int]](list)
    for left, before in enumerate(old):
        for word in words[0][left] if left not in taken[0] else ():
            having[before.kind, word].append(left)
    found = []
    for right, after in enumerate(new):
        shared = Counter[int]()
        for word in words[1][right] if right not in taken[1] else ():
            shared.update(having.get((after.kind, word), ()))
        for left, both in shared.items():
            share = both / (len(words[0][left]) + len(words[1][right]) - both)
            if share >= _LEAST_ALIKE:
                found.append((share + (_exact(old[left]) == _exact(after)), left, right))
    yield from sorted(found, key=lambda pair: (-pair[0], pair[1], pair[2]))


def _words(claim: Claim) -> frozenset[str]:
    """The words around a claim in its sentence; one that is empty if there are none."""
    around = claim.sentence.replace(claim.quote.exact, " ")
    return frozenset(word.casefold() for word in _WORD.findall(around)) or frozenset({""})


def _exact(claim: Claim) -> str:
    return " ".join(claim.quote.exact.split()).casefold()
