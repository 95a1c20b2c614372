"""Markdown as plain text: nothing that it says is lost."""

from __future__ import annotations

import pytest

from ua_tui.tui.plain.plain_markdown import unmarked


@pytest.mark.parametrize(("source", "text"), [
    ("**Paris** is _the_ `capital`.", "Paris is the capital."),
    ("# Title\nText", "Title\n\nText"),
    ("one\ntwo", "one\ntwo"),
    ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ("see [the *page*](https://a.example/x?y=1&z=2)", "see the page (https://a.example/x?y=1&z=2)"),
    ("<https://a.example/>", "https://a.example/"),
    ("![a map](https://a.example/m.png)", "image: a map (https://a.example/m.png)"),
    ("- a\n- **b**\n  - c", "- a\n- b\n  - c"),
    ("3. a\n4. b", "3. a\n4. b"),
    ("- a\n\n- b", "- a\n\n- b"),
    ("```python\nx = **y  # `z`\n\n  - q\n```", "x = **y  # `z`\n\n  - q"),
    ("> said\n> **so**", "> said\n> so"),
    ("| name | n |\n|---|---|\n| *a* | 1 |\n| b | |", "name: a; n: 1\nname: b"),
    ("a\n\n---\n\nb", "a\n\n---\n\nb"),
    ("<b>x</b>", "<b>x</b>"),
    ("~~no~~ yes", "no yes"),
    ("a\\*b\\*", "a*b*"),
    ("", ""),
])  # fmt: skip
def test_the_signs_go_and_the_text_stays(source: str, text: str) -> None:
    assert unmarked(source) == text


@pytest.mark.parametrize("levels", [1, 29, 30, 31, 59, 60, 61, 1_000])
def test_what_is_nested_deeply_is_not_lost(levels: int) -> None:
    for sign in ("> ", "- ", "[", "*a ", "**"):
        assert unmarked(sign * levels + "word").endswith("word"), sign
    for sign in ("*a ", "**a ", "~~a "):
        assert "word" in unmarked(sign * levels + "word" + sign.strip()[:-1].join([" b"] * levels)), sign


def test_a_text_of_several_blocks_is_converted_as_a_whole() -> None:
    block = "## Part\n\nSee **it** in [the notes][1].\n\n```\n" + "x = **y\n" * 200 + "```\n\n"
    text = unmarked(block * 2 + "[1]: https://a.example/\n")
    part = "Part\n\nSee it in the notes (https://a.example/).\n\n" + "x = **y\n" * 200
    assert text == f"{part}\n{part}".rstrip("\n")


def test_what_entities_stand_for_steers_no_terminal() -> None:
    assert unmarked("&#155;2Jx&#x202e;y `&`").isprintable()


def test_what_is_very_long_stays_as_it_is() -> None:
    assert unmarked("**a** " * 50_000).startswith("**a** ")
