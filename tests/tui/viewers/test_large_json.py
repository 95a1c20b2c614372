"""Large JSON is read piece by piece, and what is shown is what reading it at once gives."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.fixture_types import Patch
from ua_tui.tui.viewers.bodies import json_scan as json_members
from ua_tui.tui.viewers.bodies import json_values
from ua_tui.tui.viewers.bodies.json_text import complete_json
from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.json_values import open_level
from ua_tui.tui.viewers.contract import FULL_LIMIT
from ua_tui.tui.viewers.registry import load

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.floats(
        allow_nan=False, allow_infinity=False,
    )
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=20), inner, max_size=8),
    max_leaves=25,
)
CONTAINERS = st.lists(VALUES, max_size=12) | st.dictionaries(st.text(max_size=20), VALUES, max_size=12)


@pytest.fixture
def piecemeal(monkeypatch: Patch) -> None:
    """Treat everything as large, and read it through small windows."""
    monkeypatch.setattr(json_values, "_LARGE_LEVEL", 0)
    monkeypatch.setattr(json_members, "_WINDOW", 40)
    monkeypatch.setattr(json_members, "_MIN_SCANNED", 10)
    monkeypatch.setattr(json_members, "_MAX_NESTED_SCANS", 2)
    monkeypatch.setattr(json_members, "_DEEP", 1)


def built(data: bytes) -> Any:
    level = open_level(data)
    if level is None:
        return msgspec.json.decode(data)
    names, values = level
    inner = [built(bytes(memoryview(value)).strip()) for value in values]
    assert len(inner) == len(values)
    if names is None:
        return inner
    assert len(names) == len(values)
    return dict(zip(names, inner, strict=True))


@pytest.mark.usefixtures("piecemeal")
class TestPieces:
    @given(
        value=CONTAINERS,
        indent=st.sampled_from([None, 0, 3]),
        ascii_only=st.booleans(),
        place=st.integers(0, 400),
    )
    def test_any_value_is_read_as_at_once_and_refused_where_it_is_cut_off(
        self, value: Any, indent: int | None, ascii_only: bool, place: int
    ) -> None:
        data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
        assert built(data) == msgspec.json.decode(data)
        with pytest.raises(ValueError, match=r"\w"):
            open_level(data[: 1 + place % (len(data) - 1)])

    @pytest.mark.parametrize("text", [
        "[1 2]", "[1,]", "[,1]", "[1]x", '{"a" 1}', '{"a":}', '{"a":1,}', '["a]', "[1}", "{1: 2}",
        "[[1], [2]",
    ])  # fmt: skip
    def test_what_is_no_json_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            open_level(text.encode())

    @given(
        depth=st.integers(1, 300),
        parts=st.lists(st.sampled_from(['"]}"', '"\\"["', '"a"', "{}", "1", '{"b": [2]}']), min_size=1),
    )
    def test_what_is_nested_deeply_is_passed_to_its_own_bracket(self, depth: int, parts: list[str]) -> None:
        inner = "[" * depth + ", ".join(parts) + "]" * depth
        level = open_level(f'[{inner}, "behind", [{inner}]]'.encode())
        assert level is not None
        assert [bytes(memoryview(value)).strip().decode() for value in level[1]] == [
            inner,
            '"behind"',
            f"[{inner}]",
        ]

    def test_members_of_one_name_are_all_shown_where_they_are_large(self) -> None:
        first, second = "x" * 100, "y" * 100
        level = open_level(f'{{"a": "{first}", "a": "{second}"}}'.encode())
        assert level is not None
        assert level[0] is not None
        assert list(level[0]) == ["a", "a"]

    def test_several_members_are_asked_for_at_once_and_from_the_end(self) -> None:
        level = open_level(json.dumps(list(range(100))).encode())
        assert level is not None
        assert [bytes(memoryview(value)) for value in level[1][2:5]] == [b"2", b"3", b"4"]
        assert bytes(memoryview(level[1][-1])) == b"99"
        with pytest.raises(IndexError):
            level[1][100]


def test_a_list_of_many_numbers_is_shown_without_an_object_for_each(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    path.write_text("[" + ",".join(map(str, range(400_000))) + "]")
    before = sys.getallocatedblocks()
    document = load(path, FULL_LIMIT)
    tree = document.rendered
    assert isinstance(tree, JsonTree)
    assert sys.getallocatedblocks() - before < 40_000
    assert tree.entries == 400_000
    assert document.facts == ("400,000 items",)
    tree.cursor = 399_999
    at = tree.at_cursor()
    assert at is not None
    assert bytes(memoryview(at[0].values[at[1]])) == b"399999"


def test_a_member_that_is_large_is_unfolded_in_pieces_and_found_in(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    items = [{"id": number, "title": f"Story, {number}", "tags": ["a", "b"]} for number in range(20_000)]
    path.write_text(json.dumps({"items": items}))
    tree = load(path, FULL_LIMIT).rendered
    assert isinstance(tree, JsonTree)
    assert tree.entries == 20_001, "the one large member is open"
    from ua_tui.core.concurrency.cancellation import NEVER

    assert list(tree.find_places("Story, 19999", NEVER)) == [(0, 19_999, 1)]


def test_lines_that_are_records_are_cut_where_they_begin(tmp_path: Path, monkeypatch: Patch) -> None:
    from ua_tui.tui.viewers.types import jsonl as json_lines

    monkeypatch.setattr(json_lines, "_STEP", 16)
    path = tmp_path / "records.jsonl"
    records = [{"n": number, "text": "x" * (number % 40)} for number in range(50)]
    path.write_text("\n \n" + "\r\n\n".join(json.dumps(record) for record in records))
    tree = load(path).rendered
    assert isinstance(tree, JsonTree)
    shown = [msgspec.json.decode(bytes(memoryview(value))) for value in tree.root.values]
    assert shown == records


def test_the_beginning_of_deeply_nested_lists_is_made_whole_in_one_pass() -> None:
    depth = 60_000
    begun = b"[1," * depth
    whole = complete_json(begun)
    assert whole == begun[:-1] + b"]" * depth
