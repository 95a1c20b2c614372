"""Tests of the hashes of texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.knowledge.index.chunks import body_hash


def test_other_words_have_another_hash() -> None:
    long = "x" * (64 << 10)
    assert len({body_hash(text) for text in ("ab", "a b", "", long, f"{long} y", f"{long}y")}) == 6


@given(st.lists(st.sampled_from(["word", "x" * 40_000, " ", "\n\n", "\u3000", "\ud800", "é"]), max_size=12))
def test_a_hash_does_not_depend_on_the_amount_of_white_space(parts: list[str]) -> None:
    text = "".join(parts)
    assert body_hash(text) == body_hash(" ".join(text.split()))
