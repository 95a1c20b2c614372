from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.observers.evidence.reading.sentences import split_sentences
from ua_tui.observers.evidence.report import Link

# Single sentences, pairs of them, and texts with marks of their sources after the stop.
CASES = json.loads(Path(__file__).with_name("sentences.json").read_text(encoding="utf-8"))


def _split(text: str, *marks: str) -> list[str]:
    links = [Link(text.index(mark), text.index(mark) + len(mark), "https://a.de") for mark in marks]
    return [text[start:end] for start, end in split_sentences(text, links)]


@pytest.mark.parametrize("text", CASES["one"])
def test_one_sentence(text: str) -> None:
    assert _split(text) == [text]


@pytest.mark.parametrize(("first", "second"), CASES["two"])
def test_two_sentences(first: str, second: str) -> None:
    assert _split(f"{first} {second}") == [first, second]


@pytest.mark.parametrize(("text", "marks", "expected"), CASES["marks"])
def test_marks_after_the_stop_belong_to_the_sentence(
    text: str, marks: list[str], expected: list[str]
) -> None:
    assert _split(text, *marks) == expected


@given(st.text(st.sampled_from('aA1 .!?…"“”»«()[]\u00a0\n¿Dr'), max_size=60))
def test_sentences_have_every_character_but_spaces(text: str) -> None:
    spans = list(split_sentences(text))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    assert all(start < end for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_what_is_too_long_for_a_sentence_is_in_pieces() -> None:
    for text in ("The plant has 41 of them and " * 500, "1" * 9_000):
        spans = list(split_sentences(text))
        assert max(end - start for start, end in spans) <= 2_000
        assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
