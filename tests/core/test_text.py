from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.text import (
    as_sentence,
    clean,
    clean_line,
    escape_unsafe,
    is_unsafe,
    middle_truncate,
    natural_key,
    without_surrogates,
    words_of,
)

any_text = st.text(st.characters(exclude_categories=()), max_size=200)


def test_clean_replaces_what_steers_a_terminal_or_hides_and_keeps_what_people_write() -> None:
    for mark in "\x1b\x07\x9b\x9c\x9d\r\x00\u202e\u200b\ufeff\U000e0041\ud800\u2028\x7f\u3164":
        cleaned = clean(f"a{mark}b")
        assert "\ufffd" in cleaned
        assert not is_unsafe(cleaned)
    text = "Ünïcode 漢字 🙂 العربية\n\tindented"
    assert clean(text) == text
    assert clean("a\r\nb") == "a\nb"


@given(any_text)
def test_clean_leaves_nothing_unsafe_and_is_stable(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not is_unsafe(cleaned)
    cleaned.encode("utf-8")
    assert all(mark in "\n\t" or ord(mark) >= 32 for mark in cleaned)


@given(any_text, st.integers(min_value=1, max_value=40))
def test_clean_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = clean_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line
    assert "\t" not in line
    assert not is_unsafe(line)


def test_clean_line_marks_what_it_cut() -> None:
    assert clean_line("one\ntwo\tthree") == "one two three"
    assert clean_line("abcdefgh", 5) == "abcd…"


@given(any_text | st.just("会\u202e\U000e0041\x7f" * 50_000))
def test_escape_unsafe_loses_nothing(text: str) -> None:
    escaped = escape_unsafe(json.dumps(text, ensure_ascii=False))
    assert json.loads(escaped) == json.loads(json.dumps(text))
    assert not is_unsafe(escaped)


@given(any_text)
def test_text_without_surrogates_encodes(text: str) -> None:
    without_surrogates(text).encode("utf-8")
    assert without_surrogates("\ud83d\ude42 ok") == "🙂 ok"


@given(st.text(max_size=400), st.integers(min_value=0, max_value=300))
def test_middle_truncate_keeps_its_limit(text: str, limit: int) -> None:
    cut = middle_truncate(text, limit)
    assert len(cut) <= limit or cut == text
    assert (cut == text) == (len(text) <= limit)


def test_middle_truncate_shows_how_much_is_missing() -> None:
    cut = middle_truncate("a" * 500 + "b" * 500, 100)
    head, _, rest = cut.partition("[… ")
    count, _, tail = rest.partition(" characters left out …]")
    assert len(head.strip()) + int(count) + len(tail.strip()) == 1000
    assert cut.startswith("a")
    assert cut.endswith("b")


def test_names_are_sorted_as_a_person_sorts_them() -> None:
    names = ["9", "2026", "a" + "1" * 5000, "b", "report1_9", "report1_10", "Report2.html", "report10.html"]
    assert sorted([*names[4:], *names[:4]], key=natural_key) == names


def test_names_are_split_where_their_words_meet() -> None:
    assert words_of("mcp__exa__web-searchHTMLPages_v2") == (
        "mcp",
        "exa",
        "web",
        "search",
        "html",
        "pages",
        "v2",
    )
    assert words_of("") == words_of("__") == ()


@pytest.mark.parametrize(("message", "sentence"), [
    ("the journal is closed", "The journal is closed."),
    ("no text has it.", "No text has it."),
    ("report.html cannot be read", "report.html cannot be read."),
    ("max_cost_usd is 'x', did you mean 1?", "max_cost_usd is 'x', did you mean 1?"),
    ("ua-tui cannot tell", "ua-tui cannot tell."),
    ("“kind:x” is not a kind.", "“kind:x” is not a kind."),
    ("HTTP 404", "HTTP 404."),
])  # fmt: skip
def test_a_sentence_begins_with_a_capital_letter_but_a_name_is_kept(message: str, sentence: str) -> None:
    assert as_sentence(message) == sentence
