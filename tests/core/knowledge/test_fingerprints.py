"""Tests of the fingerprints of texts."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.knowledge.index.fingerprints import are_near, body_hash, simhash

_NAMES = [a + b + c for a in ("kal", "mor", "ten", "ris") for b in "aeou" for c in ("din", "vor", "")]
_COMMON = ["the", "of", "and", "to", "in", "a", "is", "that"]


def _text(seed: int, count: int = 220) -> str:
    source = random.Random(seed)
    words = [source.choice(_COMMON if source.random() < 0.4 else _NAMES) + str(seed % 7) * (source.random() < 0.3)
             for _ in range(count)]  # fmt: skip
    return " ".join(words)


def test_texts_are_near_with_one_changed_word_or_character_only() -> None:
    near = 0
    for seed in range(100):
        words = _text(seed).split()
        words[random.Random(seed).randrange(len(words))] = "otherwise"
        near += are_near(simhash(_text(seed)), simhash(" ".join(words)))
    assert near >= 90
    text = "人工智能芯片的价格上涨,存储器厂商一周之内跟进。台积电扩大产能,市场预计供应仍然紧张。" * 5
    assert are_near(simhash(text), simhash(text.replace("上涨", "上升", 1)))
    one = "The foundry raised the price of its wafers, and the makers of memory followed within a week. " * 8
    other = "A survey of the coast found that birds return earlier, and that the cliffs lose a metre. " * 8
    assert not are_near(simhash(one), simhash(other))
    assert not are_near(simhash("人工智能芯片的价格上涨。" * 10), simhash("今天海边的鸟比去年早回来。" * 10))


def test_the_same_words_have_the_same_fingerprint_in_every_process_and_others_another() -> None:
    assert simhash("The price, of a token.") == simhash("the  price\nof a TOKEN")
    assert (simhash("the price of a token"), simhash("")) == (6843936071351425591, 0)
    long = "x" * (64 << 10)
    assert len({body_hash(text) for text in ("ab", "a b", "", long, f"{long} y", f"{long}y")}) == 6


@given(st.text(max_size=500))
def test_a_fingerprint_is_a_number_of_64_bits_with_a_sign(text: str) -> None:
    assert -(1 << 63) <= simhash(text) < 1 << 63
    assert are_near(simhash(text), simhash(text))
    # A sign does not count as a difference.
    assert are_near(-1, (1 << 63) - 1)
    assert not are_near(0, -1)


@given(st.lists(st.sampled_from(["word", "x" * 40_000, " ", "\n\n", "\u3000", "\ud800", "é"]), max_size=12))
def test_a_hash_does_not_depend_on_the_amount_of_white_space(parts: list[str]) -> None:
    text = "".join(parts)
    assert body_hash(text) == body_hash(" ".join(text.split()))
