"""Tests of the cutting of texts into chunks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.knowledge.index.chunks import LEAST, LONGEST, MOST, body_hash, split_chunks
from ua_tui.core.knowledge.search.tokens import indexed

_MARKS = ["\n", "\n\n", "\n \t\n", " ", "\r\n", "\u2028", "\u3000", "!? ", "。", "\0", "\ud800"]
_TEXTS = ["word", "Sentence end. ", "# Heading\n", "\n## Part two\n", "東京は日本", "long" * 2_000]
_LONG = ["two words " * 300, "line of five short words\n" * 60]
_PARTS = st.sampled_from([*_MARKS, *_TEXTS, *_LONG])


def _words(count: int, first: int = 0) -> str:
    return " ".join(f"w{number}" for number in range(first, first + count))


@given(st.lists(_PARTS, max_size=40).map("".join) | st.text(max_size=3_000))
def test_chunks_are_parts_of_the_text_in_order_have_all_of_its_words_and_are_not_too_long(text: str) -> None:
    chunks = list(split_chunks(text))
    end = 0
    for chunk in chunks:
        assert end <= chunk.start < chunk.end
        assert chunk.text == text[chunk.start : chunk.end]
        assert len(indexed(chunk.text).split()) <= MOST
        assert len(chunk.text) <= LONGEST
        end = chunk.end
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.sampled_from(["\n\n", "\n", ". ", " "]))
def test_chunks_of_a_text_without_headings_have_their_size(counts: list[int], space: str) -> None:
    chunks = list(split_chunks(space.join(_words(count) for count in counts)))
    for chunk in chunks[:-1]:
        assert LEAST <= len(chunk.text.split()) <= MOST


def test_a_chunk_ends_before_a_heading_with_a_paragraph_or_after_a_sentence() -> None:
    text = f"# One\n\n{_words(100)}\n\n# Two\n\n{_words(100)}\n## Three\n{_words(60)}\n"
    heads = [chunk.text.split("\n")[0] for chunk in split_chunks(text)]
    assert heads == ["# One", "# Two", "## Three"]
    text = "\n\n".join(f"# Part {number}\n\n{_words(10)}" for number in range(12))
    assert [len(chunk.text.split()) for chunk in split_chunks(text)] == [52, 52, 52]
    assert len(list(split_chunks(f"{_words(100)}\n#1 of all, #hashtag\n{_words(100)}"))) == 1
    paragraphs = [_words(80, 100 * number) for number in range(6)]
    assert [chunk.text for chunk in split_chunks("\n\n".join(paragraphs))] == [
        "\n\n".join(paragraphs[:3]),
        "\n\n".join(paragraphs[3:]),
    ]
    text = " ".join(f"This sentence {number} has {_words(20)} and ends here." for number in range(40))
    for chunk in list(split_chunks(text))[:-1]:
        assert re.search(r"here\.\Z", chunk.text)


def test_texts_without_spaces_are_cut_at_chinese_marks_or_anywhere() -> None:
    text = "人工智能芯片的价格上涨。" * 100
    sizes = [len(chunk.text) for chunk in split_chunks(text)]
    assert all(LEAST <= size <= MOST for size in sizes[:-1])
    assert all(chunk.text.endswith("。") for chunk in split_chunks(text))
    chunks = list(split_chunks("x" * 1_000_000))
    assert sum(len(chunk.text) for chunk in chunks) == 1_000_000
    assert max(len(chunk.text) for chunk in chunks) <= LONGEST
    assert list(split_chunks(" \n\t" * 100_000)) == []


@pytest.mark.parametrize("letter", [" ", "x"])
@pytest.mark.parametrize("read", [split_chunks, body_hash])
def test_a_text_without_words_or_of_one_is_read_in_steps(
    read: Callable[[str], Iterable[object]], letter: str
) -> None:
    steps = 0

    def count(*_: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    # What is compiled once is no step.
    list(read(letter * (1 << 17)))
    traced = sys.gettrace()
    # Between two lines of Python other threads get their turn.
    sys.settrace(count)
    try:
        list(read(letter * (1 << 22)))
    finally:
        sys.settrace(traced)
    assert steps > (1 << 22) // (64 << 10)
