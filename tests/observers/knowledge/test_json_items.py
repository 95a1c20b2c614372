"""Tests of the reading of JSON piece by piece."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ua_tui.observers.knowledge import json_items
from ua_tui.observers.knowledge.json_items import read_object

_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
_PAD = " " * (json_items._SHORT + 1)


@given(st.dictionaries(st.text(min_size=1, max_size=3), _VALUES, max_size=4), st.lists(_VALUES, max_size=4))
def test_short_and_long_objects_are_read_alike(before: dict[str, Any], items: list[Any]) -> None:
    text = json.dumps({**before, "items": items}, indent=1)
    for source in (text, text + _PAD):
        members, found = read_object(source, "items")
        assert (members, list(found)) == (before, items)


@given(st.lists(_VALUES, max_size=6), st.integers(0, 40))
def test_the_items_before_the_end_of_a_damaged_text_are_read(items: list[Any], cut: int) -> None:
    text = json.dumps({"query": "q", "items": items})
    _, found = read_object(text[: max(0, len(text) - cut)], "items")
    read = list(found)
    # The last one may be a number that lost digits.
    assert read[:-1] == items[: max(0, len(read) - 1)]


def test_what_is_no_object_has_no_members() -> None:
    for text in ("[1]", "", "{", "x", '"x"', '{"a"', '{"a": }'):
        members, items = read_object(text, "items")
        assert (members, list(items)) == ({}, [])


def test_members_before_the_list_are_read_from_a_long_text() -> None:
    def read(text: str) -> tuple[dict[str, Any], list[Any]]:
        members, items = read_object(text + _PAD, "items")
        return members, list(items)

    assert read('{"a": 1, "items": [1, [2], {"b": 3}], "later": 2}') == ({"a": 1}, [1, [2], {"b": 3}])
    whole = {"a": 1, "items": {"b": 2}, "later": 3}
    assert read(json.dumps(whole)) == (whole, [])
