from __future__ import annotations

import json
from typing import Any

import pytest

from ua_tui.observers.decoding.decode import MAX_TEXT, decode_text, decode_texts
from ua_tui.observers.decoding.lenient import decode_bytes
from ua_tui.observers.decoding.truncated_json import CUT_OFF

ROWS = {"results": [{"title": "A “quoted” title", "url": "https://a.example/1"}]}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS), json.dumps(json.dumps(ROWS)), json.dumps({"result": json.dumps(ROWS)}),
        json.dumps({"result": json.dumps(json.dumps(ROWS))}),
        json.dumps([{"type": "text", "text": json.dumps(ROWS)}]),
        json.dumps({"content": [{"type": "text", "text": "shorter"}], "structuredContent": ROWS}),
        "\ufeff" + json.dumps(ROWS), "[local-toolkit-trace-id: 12ab]\n" + json.dumps(ROWS),
        "Here is what I found: " + json.dumps(ROWS) + "\nand that was all.", repr(ROWS),
        repr([{"type": "text", "text": json.dumps(ROWS)}]), "Answer:\n" + json.dumps(ROWS, indent=2),
    ],
    ids=[
        "plain", "twice", "wrapped", "wrapped-twice", "blocks", "structured", "bom", "prefix", "prose",
        "repr", "repr-blocks", "pretty",
    ],
)  # fmt: skip
def test_every_wrapping_gives_the_same_value(text: str) -> None:
    decoded = decode_text(text)
    assert decoded.values == (ROWS,)
    assert not decoded.truncated
    assert decoded.problem is None


def test_a_python_literal_with_none_and_apostrophes() -> None:
    decoded = decode_text("{'title': \"It's\", 'answer': None, 'ok': True, 'pair': (1, 2)}")
    assert decoded.values == ({"title": "It's", "answer": None, "ok": True, "pair": [1, 2]},)


def test_prose_stays_prose() -> None:
    decoded = decode_text("Brackets [1] and {braces} are no documents.")
    assert decoded.values == ()
    assert decoded.prose.startswith("Brackets")
    assert decoded.problem is None


@pytest.mark.parametrize(
    "text",
    [
        "[1] See the first footnote.", "[A title](https://a.example/) and [another](https://b.example/)",
        "[[An article]] of an encyclopedia", "[2026-03-10 12:00] started",
        "[Note: this is prose] and goes on", "[ ] a task", "{name} is a placeholder",
        "{{Infobox person | name = A}}", "{https://a.example/}", '["quoted"] in brackets', "{} is empty",
    ],
)  # fmt: skip
def test_prose_that_begins_with_a_bracket_stays_prose(text: str) -> None:
    decoded = decode_text(text)
    assert (decoded.values, decoded.prose, decoded.problem) == ((), text, None)


@pytest.mark.parametrize(
    "text",
    ['{"resul', '[{"titl', "[{title: 1}]"],
)
def test_a_document_that_cannot_be_read_is_reported_and_unchanged(text: str) -> None:
    decoded = decode_text(text)
    assert (decoded.values, decoded.prose) == ((), text)
    assert decoded.problem == "the result looks like JSON but cannot be read"
    assert decode_text(json.dumps(text)).problem == decoded.problem


def test_several_blocks_and_documents() -> None:
    assert decode_texts([json.dumps({"a": 1}), json.dumps({"b": 2})]).values == ({"a": 1}, {"b": 2})
    assert decode_text('{"a": 1}\n{"b": 2}\n').values == ({"a": 1}, {"b": 2})
    whole = json.dumps(ROWS)
    assert decode_texts([whole[:20], whole[20:]]).values == (ROWS,)
    assert decode_texts([whole[:5], whole[5:]]).values == (ROWS,)


@pytest.mark.parametrize("dump", [json.dumps, repr], ids=["json", "python"])
def test_every_cut_keeps_every_complete_row(dump: Any) -> None:
    rows = [
        {"title": f"T{n}, [x] \\ \"q\" 'a'", "url": f"https://a.example/{n}", "n": [1, {"d": n}]}
        for n in range(6)
    ]
    text = dump({"ok": True, "data": {"results": rows}})
    ends = [text.index(f"https://a.example/{n}") for n in range(6)]
    for cut in range(60, len(text) - 1):
        decoded = decode_text(text[:cut])
        assert decoded.truncated or decoded.problem
        found = decoded.values[0]["data"]["results"] if decoded.values and "data" in decoded.values[0] else []
        complete = [row for row in found if CUT_OFF not in row]
        assert complete == rows[: len(complete)]
        begun = sum(1 for end in ends if cut > end)
        assert len(complete) >= begun - 1, cut


@pytest.mark.parametrize("mark", ["...", "…", "... (truncated)"])
def test_every_document_of_a_text_that_cuts_each_of_them(mark: str) -> None:
    rows = [{"title": f"T {n}", "url": f"https://a.example/{n}", "text": "a \\ b"} for n in range(2)]
    whole = json.dumps([{"text": rows, "type": "text"}])
    for cut in range(whole.index("text", 4), len(whole)):
        pieces = [f'Query:\n{{"q": "{n}"}}\n**Output:** {whole[:cut]}{mark}\n   Once more:' for n in range(3)]
        decoded = decode_text("\n\n".join(pieces))
        queries, found = decoded.values[::2], decoded.values[1::2]
        assert ([each["q"] for each in queries], decoded.truncated) == (["0", "1", "2"], True)
        assert len(found) == 3
        for value in found:
            complete = [row for row in value[0].get("text", ()) if row and CUT_OFF not in row]
            assert complete == rows[: len(complete)]
            assert len(complete) >= whole[:cut].count('{"title"') - 1
            assert "Once more" not in json.dumps(value)


def test_objects_written_by_python() -> None:
    assert decode_text("[{'title': \"It's\", 'tags': ('x',), 1: None}]").values == (
        [{"title": "It's", "tags": ["x"], "1": None}],
    )
    rows = [{"title": f"T{n}", "url": f"https://a.example/{n}"} for n in range(3)]
    assert decode_text("\n".join(map(repr, rows))).values == tuple(rows)


def test_a_document_cut_off_inside_a_block_of_python() -> None:
    inner = json.dumps({"results": [{"title": "One", "url": "https://a.example/1"}, {"title": "Tw"}]})
    decoded = decode_text(repr([{"type": "text", "text": inner}])[:100])
    assert decoded.truncated
    assert decoded.values[0]["results"][0]["url"] == "https://a.example/1"


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 5_000, "[" * 100_000 + "]" * 100_000, '{"a":[' * 3_000]
)
def test_deep_nesting_is_a_problem_not_a_crash(text: str) -> None:
    decoded = decode_text(text)
    assert decoded.values == ()
    assert decoded.problem


def test_a_text_over_the_limit_is_refused_unread() -> None:
    assert "too large" in (decode_text("[" + "1," * (MAX_TEXT // 2) + "1]").problem or "")


def test_numbers_no_json_has_and_ids_too_long_for_a_float() -> None:
    (value,) = decode_text(
        '{"a": NaN, "b": -Infinity, "c": 1e999, "id": 12345678901234567890, "n": ' + "7" * 5000 + "}"
    ).values
    assert value["a"] is None
    assert value["b"] is None
    assert value["c"] == "1e999"
    assert value["id"] == 12345678901234567890
    assert value["n"] == "7" * 5000


def test_bytes_in_any_encoding_become_text() -> None:
    assert decode_bytes(b"\xef\xbb\xbfab") == "ab"
    assert decode_bytes("ab".encode("utf-16")) == "ab"
    assert decode_bytes(b"a\xff\xfeb") == "a\ufffd\ufffdb"
