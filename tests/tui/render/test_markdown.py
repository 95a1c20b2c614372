from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from ua_tui.tui.render.layout import Line, line_width, plain, wrap
from ua_tui.tui.render.markdown.highlight import CodeTheme
from ua_tui.tui.render.markdown.parser import MOST_KEPT, parse_markdown
from ua_tui.tui.render.markdown.renderer import MAX_ROWS, MarkdownTheme, render_markdown
from ua_tui.tui.render.markdown.stream import blocks_of, closed, definitions, split_long, split_stable

THEME = MarkdownTheme()
CASES = json.loads(Path(__file__).with_name("markdown.json").read_text(encoding="utf-8"))
DOCUMENT = """# Title

A paragraph with **bold**, `code` and [a link](https://news.example/a).
It goes on.

- one
- two

  still two
    - deep

1. first
2. second

> quoted
> text

| a | b |
|---|--:|
| 1 | 2 |

```python
x = 1

y = 2
```

last
"""


def lines(source: str, width: int = 60, theme: MarkdownTheme = THEME) -> list[str]:
    return [plain(line).rstrip() for line in render_markdown(source, width, theme)]


def styled(source: str, text: str) -> Style:
    found: Line = [part for line in render_markdown(source, 60, THEME) for part in line if part.text == text]
    assert found, f"no segment {text!r}"
    assert found[0].style is not None
    return found[0].style


def test_every_kind_of_block_is_shown() -> None:
    for source, width, expected in CASES["shown"]:
        assert lines(source, width) == expected, source


def test_emphasis_is_style_not_text() -> None:
    assert styled("a **b**", "b").bold
    assert styled("a *c*", "c").italic
    assert styled("a ~~d~~", "d").strike


def test_links_keep_their_url_as_data_only() -> None:
    style = styled("see [the story](https://news.example/a?b=1)", "the story")
    assert style.meta == {"url": "https://news.example/a?b=1"}
    assert style.link is None
    assert (
        styled("at https://news.example/x.", "https://news.example/x").meta["url"] == "https://news.example/x"
    )


def test_nothing_that_steers_a_terminal_survives() -> None:
    source = "a\x1b[2Jb &#x202E; &#27; `\x9b1m` [t\x07](https://x.example/%1b)\n\n```\n\x1b]52;c;x\x07\n```\n\n|\x1b[1m|\n|--|\n|\u202e|"
    text = "\n".join(lines(source))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\u202e" not in text


def test_code_is_kept_line_by_line_and_coloured() -> None:
    blue, red = Style(color="blue"), Style(color="red")
    theme = MarkdownTheme(block=CodeTheme(keyword=blue, string=red))
    rendered = render_markdown('```python\ndef f():\n\treturn "x"\n```', 30, theme)
    assert [plain(line) for line in rendered] == [" def f():".ljust(30), '     return "x"'.ljust(30)]
    styles = {part.text.strip(): part.style for line in rendered for part in line}
    assert styles["def"] == blue
    assert styles['"x"'] == red
    assert lines("```nosuchlanguage\n[b]a[/b]\n```") == [" [b]a[/b]"]
    assert lines("```\nabcdef\n```", 6) == [" abcd", " ef"]


def test_tables_align_and_fit() -> None:
    source = "| Name | N |\n|:--|--:|\n| a | 12 |\n| bb | 3 |"
    assert lines(source) == ["Name   N", "────────", "a     12", "bb     3"]
    wide = "| Name | Text |\n|--|--|\n| a | " + "word " * 30 + "|"
    assert all(line_width(line) <= 30 for line in render_markdown(wide, 30, THEME))


def test_rows_of_a_table_are_all_as_far_apart() -> None:
    rows = "| a | b |\n|--|--|\n| one | x |\n| two | {} |\n| three | y |\n| four | z |"
    assert "" not in lines(rows.format("short"), 30)
    apart = lines(rows.format("a text that wraps in its column"), 30)[2:]
    assert apart[1] == ""
    assert apart[-2] == ""
    assert apart.count("") == 3


def test_a_huge_table_is_capped_and_says_so() -> None:
    row = "|" + " cell |" * 20
    rule = "|" + "--|" * 20
    rendered = lines("\n".join([row, rule, *[row] * 500]), 400)
    assert rendered[-1] == f"… {500 - MAX_ROWS} more rows"


def test_deep_nesting_ends() -> None:
    assert lines(">" * 500 + " x", 20)
    assert lines("".join("  " * n + "- x\n" for n in range(200)), 20)


FRAGMENTS = [
    "# h", "text *a* `b", "- item", "  - sub", "1. one", "> q", "```py", "```", "~~~", "| a | b |", "|--|--|",
    "", "", "", "---", "    code", "***", "- [x] t", "**open", "[l](http://x.example)", "中文字符", "+", "2",
    "\tx", "===",
    "word word word word word word word word word word word word",
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(FRAGMENTS), max_size=24).map("\n".join)


@given(MARKDOWN, st.integers(2, 50))
def test_no_line_is_wider_than_asked(source: str, width: int) -> None:
    for line in render_markdown(source, width, THEME):
        assert line_width(line) <= width, plain(line)


@given(MARKDOWN)
def test_a_stable_prefix_renders_as_it_does_in_the_whole(source: str) -> None:
    at = split_stable(source)
    head, rest = lines(source[:at]), lines(source[at:])
    together = [*head, "", *rest] if head and rest else head or rest
    assert together == lines(source)


@given(MARKDOWN, MARKDOWN)
def test_text_that_follows_never_changes_a_stable_prefix(source: str, more: str) -> None:
    at = split_stable(source)
    grown = split_stable(source + more)
    assert grown >= at
    assert lines((source + more)[:grown])[: len(lines(source[:at]))] == lines(source[:at])


@given(MARKDOWN)
def test_chunks_hold_everything(source: str) -> None:
    assert "".join(chunk.source for chunk in blocks_of(source)).strip() == source.strip()


def test_only_the_last_block_is_unstable() -> None:
    at = split_stable(DOCUMENT)
    assert DOCUMENT[at:] == "last\n"
    assert split_stable("one paragraph only") == 0
    assert split_stable("```\na\n\nb") == 0
    assert split_stable("- a\n\n- b\n\n  more") == 0
    assert split_stable("- a\n\ntext") == len("- a\n\n")
    assert split_stable("- a\n\n1") == 0
    assert split_stable("# h\n  - a\n\n- b") == 0


def test_long_code_is_cut_between_lines_and_continues_as_code() -> None:
    source = "```python\n" + "x = 1\n" * 400
    head, rest = split_long(source, 1_000)
    assert head.endswith("x = 1\n")
    assert rest.startswith("```python\nx = 1\n")
    assert head.count("x = 1") + rest.count("x = 1") == 400


def test_long_lists_and_lines_are_cut_and_tables_are_not() -> None:
    head, rest = split_long("- item\n" * 400, 1_000)
    assert rest.startswith("- item")
    assert head + rest == "- item\n" * 400
    head, rest = split_long("word " * 1_000, 1_000)
    assert head.endswith(" ")
    assert head + rest == "word " * 1_000
    table = "| a |\n|--|\n" + "| b |\n" * 400
    assert split_long(table, 500) == (table, "")
    assert len(split_long("x" * 5_000, 1_000)[0]) == 1_000


def test_a_huge_text_is_cut_into_bounded_chunks() -> None:
    code = "```python\n" + "x = 1\n" * 4_000
    pieces = blocks_of(code)
    assert sum(piece.source.count("x = 1") for piece in pieces) == 4_000
    assert all(piece.source.startswith("```python\n") for piece in pieces)
    chunks = blocks_of("y" * 100_000)
    assert sum(len(chunk.source) for chunk in chunks) == 100_000
    assert max(len(chunk.source) for chunk in chunks) <= 8_000
    assert [chunk.joined for chunk in chunks[:2]] == [False, True]


def test_links_are_resolved_by_definitions_elsewhere() -> None:
    text = "see [a][1]\n\n[1]: https://x.example/a"
    assert definitions(text) == "[1]: https://x.example/a"
    rendered = render_markdown("see [a][1]", 40, THEME, definitions=definitions(text))
    assert [plain(line) for line in rendered] == ["see a"]
    code = render_markdown("```\nx\n", 40, THEME, definitions=definitions(text))
    assert [plain(line).strip() for line in code] == ["x"], "code that continues in another part has none"


@given(st.text(alphabet="ab 中\n\t", max_size=60), st.integers(2, 12))
def test_wrapping_keeps_every_visible_character(text: str, width: int) -> None:
    wrapped = wrap([(text, Style.null())], width)
    assert all(line_width(line) <= width for line in wrapped)
    assert "".join("".join(plain(line) for line in wrapped).split()) == "".join(text.split())


def test_blanks_after_the_last_line_break_are_no_line() -> None:
    for text, shown in (("a\n \t", ["a"]), ("a\n  \nb", ["a", "", "b"]), ("a\n\n ", ["a", ""]), (" ", [""])):
        assert [plain(line) for line in wrap([(text, Style.null())], 9)] == shown, text


def test_with_another_width_a_text_is_not_parsed_again() -> None:
    source = "# Prices\n\n- they **rise**\n- [x] sold\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    tokens = parse_markdown(source)
    first = render_markdown(source, 40, MarkdownTheme())
    render_markdown(source, 12, MarkdownTheme())
    assert parse_markdown(source) is tokens
    assert render_markdown(source, 40, MarkdownTheme()) == first
    long = "word " * MOST_KEPT
    assert parse_markdown(long) is not parse_markdown(long)


def test_what_is_open_at_the_end_of_a_stream_is_closed() -> None:
    for source, shown in CASES["open"]:
        assert closed(source) == shown, source
