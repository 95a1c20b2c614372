"""What changed between the claims of two reports about the same question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from ua_tui.core.claims.records import Claim

_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_ALIKE = 0.5
"""The share of the words of two sentences that they have in common, from which they are about the same thing."""


class ClaimChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The figures and quotations of a report against those of an earlier one.

    `changed` are pairs of an earlier claim and the one that stands in its place; `same` is how many are as they were.
    """

    new: tuple[Claim, ...] = ()
    gone: tuple[Claim, ...] = ()
    changed: tuple[tuple[Claim, Claim], ...] = ()
    same: int = 0


def compare_claims(before: Iterable[Claim], after: Iterable[Claim]) -> ClaimChanges:
    """Compare the claims of two reports; links are left out.

    Claims of equal words in alike sentences are the same. Of the others those whose sentences are alike are one claim
    that changed, the most alike first.
    """
    old, new = ([claim for claim in claims if claim.kind != "link"] for claims in (before, after))
    pairs = sorted(_alike(old, new), key=lambda pair: (-pair[0], pair[1], pair[2]))
    taken: tuple[set[int], set[int]] = (set(), set())
    changed: list[tuple[int, int]] = []
    same = 0
    for _, left, right in pairs:
        if left in taken[0] or right in taken[1]:
            continue
        taken[0].add(left)
        taken[1].add(right)
        if _exact(old[left]) == _exact(new[right]):
            same += 1
        else:
            changed.append((left, right))
    return ClaimChanges(
        new=tuple(claim for at, claim in enumerate(new) if at not in taken[1]),
        gone=tuple(claim for at, claim in enumerate(old) if at not in taken[0]),
        changed=tuple((old[left], new[right]) for left, right in sorted(changed, key=lambda pair: pair[1])),
        same=same,
    )


def _alike(old: Sequence[Claim], new: Sequence[Claim]) -> Iterable[tuple[float, int, int]]:
    words = [[_words(claim) for claim in claims] for claims in (old, new)]
    for left, before in enumerate(old):
        for right, after in enumerate(new):
            if before.kind != after.kind:
                continue
            one, other = words[0][left], words[1][right]
            share = len(one & other) / max(1, len(one | other))
            if share >= _LEAST_ALIKE or (not one and not other):
                # Equal words come before the words around them.
                yield share + (_exact(before) == _exact(after)), left, right


def _words(claim: Claim) -> frozenset[str]:
    around = claim.sentence.replace(claim.quote.exact, " ")
    return frozenset(word.casefold() for word in _WORD.findall(around))


def _exact(claim: Claim) -> str:
    return " ".join(claim.quote.exact.split()).casefold()
