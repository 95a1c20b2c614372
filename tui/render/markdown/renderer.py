"""Renders Markdown as lines of styled segments: a pure function of source, width and theme.

Nothing in the source can control the terminal or the program: HTML is shown as text, the URL of a link is segment
metadata (`meta["url"]`, of a file `meta["file"]`) and never a terminal hyperlink, and pictures are shown as their
captions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal, NamedTuple
from urllib.parse import unquote

from markdown_it.token import Token
from rich.segment import Segment
from rich.style import Style

from ua_tui.core.text import clean
from ua_tui.tui.render.layout import (
    PLAIN,
    Line,
    Piece,
    chop,
    component_classes,
    line_width,
    merge,
    plain,
    read_theme,
    width_of,
    wrap,
)
from ua_tui.tui.render.markdown.file_names import FindFile, file_style, no_file, with_files
from ua_tui.tui.render.markdown.highlight import CodeTheme, highlight
from ua_tui.tui.render.markdown.parser import parse_markdown

MAX_ROWS = 200
GAP = 2
MIN_COLUMN = 6
MAX_CELL_LINES = 6

Align = Literal["left", "center", "right"]
Cell = Sequence[Piece]


def table_lines(
    header: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    aligns: Sequence[Align],
    width: int,
    rule: Style,
    muted: Style,
) -> list[Line]:
    """Lay out a table in lines of at most `width` cells: a header, a rule, and at most 200 rows.

    Every row has as many cells as the header. Apart from the cells, a table has the styles of rules and of notes.
    If a column would get less than six cells, each row becomes a record with one `header: value` on each line.
    """
    shown = rows[:MAX_ROWS]
    widths = _widths([header, *shown], width)
    if widths is None:
        lines = _records(header, shown, width, rule, muted)
    else:
        lines = _row(header, aligns, widths, muted)
        lines.append([Segment("─" * min(width, sum(widths) + GAP * (len(widths) - 1)), rule)])
        drawn = [_row(row, aligns, widths, muted) for row in shown]
        # Where one row wraps, a blank line is between any two: the distance of the rows is the same everywhere.
        is_apart = len(widths) > 1 and any(len(each) > 1 for each in drawn)
        for number, each in enumerate(drawn):
            lines += [[], *each] if is_apart and number else each
    if len(rows) > len(shown):
        lines.append([Segment(f"… {len(rows) - len(shown)} more rows", muted)])
    return lines


def _natural(cell: Cell) -> int:
    return max(width_of(line) for line in "".join(text for text, _ in cell).split("\n"))


def _widths(rows: Sequence[Sequence[Cell]], width: int) -> list[int] | None:
    natural = [max(1, *map(_natural, column)) for column in zip(*rows, strict=True)]
    room = width - GAP * (len(natural) - 1)
    if sum(natural) <= room:
        return natural
    if room < sum(min(each, MIN_COLUMN) for each in natural):
        return None
    # Narrow columns get what they need; wide columns share the rest in proportion to their widths.
    fitted = [0] * len(natural)
    narrow_first = sorted(range(len(natural)), key=natural.__getitem__)
    for number, column in enumerate(narrow_first):
        wide = narrow_first[number:]
        if natural[column] * len(wide) > room:
            total, spare = sum(natural[each] for each in wide), room - MIN_COLUMN * len(wide)
            for each in wide:
                fitted[each] = MIN_COLUMN + spare * natural[each] // total
            break
        fitted[column] = natural[column]
        room -= natural[column]
    return fitted


def _row(cells: Sequence[Cell], aligns: Sequence[Align], widths: Sequence[int], muted: Style) -> list[Line]:
    columns: list[list[Line]] = []
    for cell, width in zip(cells, widths, strict=True):
        wrapped = wrap(cell, width)
        if len(wrapped) > MAX_CELL_LINES:
            wrapped = [*wrapped[: MAX_CELL_LINES - 1], [Segment("…", muted)]]
        columns.append(wrapped)
    lines: list[Line] = []
    for parts in zip_longest(*columns, fillvalue=[]):
        line: Line = []
        for part, width, align in zip(parts, widths, aligns, strict=True):
            missing = max(0, width - line_width(part))
            before = missing if align == "right" else missing // 2 if align == "center" else 0
            gap = GAP if line else 0
            line += [Segment(" " * (gap + before)), *part, Segment(" " * (missing - before))]
        lines.append(merge(line))
    return lines or [[]]


def _records(
    header: Sequence[Cell], rows: Sequence[Sequence[Cell]], width: int, rule: Style, muted: Style
) -> list[Line]:
    lines: list[Line] = []
    for number, row in enumerate(rows):
        if number:
            lines.append([Segment("─" * min(width, 12), rule)])
        for name, cell in zip(header, row, strict=True):
            if any(text.strip() for text, _ in cell):
                lines.extend(wrap([*name, (": ", muted), *cell], width))
    return lines


BULLETS = "•◦▪"
BOLD = Style(bold=True)
ITALIC = Style(italic=True)
UNDERLINE = Style(underline=True)
STRIKE = Style(strike=True)
_BARE_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]]+[^\s<>\"'`|\\^{}\[\].,;:!?)*_~]")


@dataclass(frozen=True, slots=True)
class MarkdownTheme:
    """The styles of Markdown; each is combined with the style of the surrounding text."""

    text: Style = PLAIN
    h1: Style = BOLD
    h2: Style = BOLD
    h3: Style = BOLD + ITALIC
    strong: Style = BOLD
    emphasis: Style = ITALIC
    strike: Style = STRIKE
    code: Style = PLAIN
    link: Style = UNDERLINE
    image: Style = ITALIC
    quote: Style = PLAIN
    bullet: Style = PLAIN
    rule: Style = PLAIN
    muted: Style = PLAIN
    table_header: Style = BOLD
    block: CodeTheme = field(default_factory=CodeTheme)

    @classmethod
    def read(cls, style: Callable[[str], Style]) -> MarkdownTheme:
        """Build a theme from `style`, which returns the style of a component class such as `md--h1`."""
        return read_theme(cls, "md-", style, block=read_theme(CodeTheme, "md--code", style))


MARKDOWN_COMPONENTS = frozenset(
    [*component_classes(MarkdownTheme, "md-").values(), *component_classes(CodeTheme, "md--code").values()]
)


class RenderedHeading(NamedTuple):
    """A heading that is in no list and no quote: the line it begins on, its level from 1, and its text."""

    line: int
    level: int
    text: str


def render_markdown(
    source: str, width: int, theme: MarkdownTheme, *, definitions: str = "", find_file: FindFile = no_file
) -> list[Line]:
    """Render Markdown as lines of at most `width` cells, without a blank line at either end.

    `definitions` are link definitions from other parts of the text that contains `source`. A file that `find_file`
    finds becomes a link to it.
    """
    return render_with_headings(source, width, theme, definitions=definitions, find_file=find_file)[0]


def render_with_headings(
    source: str, width: int, theme: MarkdownTheme, *, definitions: str = "", find_file: FindFile = no_file
) -> tuple[list[Line], list[RenderedHeading]]:
    """Render Markdown as `render_markdown` does, and return its headings, too."""
    renderer = _Renderer(theme, find_file)
    lines = renderer.blocks(parse_markdown(source, definitions), max(1, width))
    while lines and not lines[-1]:
        lines.pop()
    return lines, renderer.headings


def warm_up() -> None:
    """Load what the first rendering needs (parser, lexers); called in a thread after the first frame."""
    render_markdown(
        "# a\n\n- b\n\n| c |\n|--|\n\n```python\nd = 1\n```\n\n```json\n{}\n```\n", 40, MarkdownTheme()
    )


def _parts(tokens: Sequence[Token]) -> Iterator[tuple[Token, Sequence[Token]]]:
    """Give each part with the tokens in it."""
    start = 0
    for index, token in enumerate(tokens):
        if token.level == tokens[start].level and token.nesting != 1:
            yield tokens[start], tokens[start + 1 : index]
            start = index + 1


def _prefixed(lines: list[Line], first: Line, rest: Line) -> list[Line]:
    return [[*(rest if number else first), *line] for number, line in enumerate(lines)] or [first]


class _Renderer:
    def __init__(self, theme: MarkdownTheme, find_file: FindFile) -> None:
        self._theme = theme
        self._find_file = find_file
        self.headings: list[RenderedHeading] = []

    def blocks(
        self, tokens: Sequence[Token], width: int, base: Style | None = None, depth: int = 0
    ) -> list[Line]:
        base = self._theme.text if base is None else base
        lines: list[Line] = []
        tight_before = True
        for token, inner in _parts(tokens):
            block = self._block(token, inner, width, base, depth)
            if block:
                if lines and not tight_before:
                    lines.append([])
                if token.type == "heading_open" and not token.level:
                    text = " ".join(plain(line).strip() for line in block)
                    self.headings.append(RenderedHeading(len(lines), int(token.tag[1:]), text))
                lines.extend(block)
                tight_before = token.hidden
        return lines

    def _block(self, token: Token, inner: Sequence[Token], width: int, base: Style, depth: int) -> list[Line]:
        theme = self._theme
        match token.type:
            case "paragraph_open":
                return wrap(self._inline(inner, base), width)
            case "heading_open":
                style = base + (theme.h1, theme.h2, theme.h3)[min(int(token.tag[1:]), 3) - 1]
                return wrap(self._inline(inner, style), width)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(token, inner, width, base, depth)
            case "blockquote_open":
                bar = [Segment("│ ", base + theme.quote)] if width > 4 else []
                lines = self.blocks(inner, width - line_width(bar), base + theme.quote, depth)
                return _prefixed(lines, bar, bar)
            case "fence" | "code_block":
                info = token.info.split()
                return self._code(token.content, info[0] if info else "", width)
            case "hr":
                return [[Segment("─" * width, base + theme.rule)]]
            case "table_open":
                return self._table(inner, width, base)
            case _:
                return (
                    wrap([(clean(token.content).rstrip("\n"), base)], width) if token.content.strip() else []
                )

    def _list(self, token: Token, inner: Sequence[Token], width: int, base: Style, depth: int) -> list[Line]:
        items = [*_parts(inner)]
        ordered = token.type == "ordered_list_open"
        first = int(token.attrs.get("start", 1)) if ordered else 0
        loose = any(
            part.type == "paragraph_open" and not part.hidden for _, item in items for part in item[:1]
        )
        digits = len(str(first + len(items) - 1))
        lines: list[Line] = []
        for number, (opening, item) in enumerate(items):
            bullet = f"{first + number:>{digits}}." if ordered else BULLETS[depth % len(BULLETS)]
            mark = f"{opening.meta.get('box', bullet)} "
            if width < width_of(mark) + 4:
                mark = ""
            blank = [Segment(" " * width_of(mark))] if mark else []
            head = [Segment(mark, base + self._theme.bullet)] if mark else []
            content = self.blocks(item, width - width_of(mark), base, depth + 1)
            if loose and lines:
                lines.append([])
            lines.extend(_prefixed(content, head, blank))
        return lines

    def _code(self, content: str, language: str, width: int) -> list[Line]:
        theme = self._theme.block
        inside = max(1, width - 2) if width > 3 else width
        margin = " " * ((width - inside) // 2)
        lines: list[Line] = []
        text = clean(content).rstrip("\n").expandtabs(4)
        code = highlight(text, clean(language), theme)
        for line in chop([each for piece in code for each in self._with_files(*piece)], inside):
            fill = " " * (inside - line_width(line))
            lines.append(merge([Segment(margin, theme.text), *line, Segment(fill + margin, theme.text)]))
        return lines

    def _table(self, inner: Sequence[Token], width: int, base: Style) -> list[Line]:
        theme = self._theme
        rows: list[list[Cell]] = []
        aligns: list[Align] = []
        for index, token in enumerate(inner):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"} and rows:
                header = token.type == "th_open"
                style = base + theme.table_header if header else base
                rows[-1].append(self._inline(inner[index + 1 : index + 2], style))
                if header:
                    align = str(token.attrs.get("style", ""))
                    aligns.append("right" if "right" in align else "center" if "center" in align else "left")
        if not rows:
            return []
        return table_lines(rows[0], rows[1:], aligns, width, base + theme.rule, base + theme.muted)

    def _inline(self, tokens: Sequence[Token], base: Style) -> list[Piece]:
        pieces: list[Piece] = []
        for token in tokens:
            self._spans(token.children or (), base, pieces)
        return pieces

    def _spans(self, tokens: Sequence[Token], base: Style, pieces: list[Piece]) -> None:
        theme = self._theme
        over = {"strong_open": theme.strong, "em_open": theme.emphasis, "s_open": theme.strike}
        styles = [base]
        linked = 0
        for token in tokens:
            style = styles[-1]
            match token.type:
                case "text":
                    self._text(token.meta.get("shown", token.content), style, pieces, bare=not linked)
                case "softbreak":
                    pieces.append((" ", style))
                case "hardbreak":
                    pieces.append(("\n", style))
                case "code_inline":
                    pieces += self._with_files(clean(token.content), style + theme.code)
                case "strong_open" | "em_open" | "s_open":
                    styles.append(style + over[token.type])
                case "link_open":
                    linked += 1
                    address = str(token.attrs.get("href", ""))
                    is_file = address and "://" not in address
                    file = file_style(unquote(address), self._find_file) if is_file else None
                    styles.append(style + theme.link + (file or _url(address)))
                case "link_close":
                    linked -= 1
                    styles.pop()
                case "strong_close" | "em_close" | "s_close":
                    styles.pop()
                case "image":
                    caption = clean(token.content).strip() or "picture"
                    source = _url(str(token.attrs.get("src", "")))
                    pieces.append((f"[image: {caption}]", style + theme.image + source))
                case _:
                    pieces.append((clean(token.content), style))

    def _text(self, content: str, style: Style, pieces: list[Piece], *, bare: bool) -> None:
        # The parser has decoded entities, and the result is as untrusted as the source.
        text = clean(content)
        if not bare:
            pieces.append((text, style))
            return
        position = 0
        for found in _BARE_URL.finditer(text):
            pieces += self._with_files(text[position : found.start()], style)
            pieces.append((found.group(), style + self._theme.link + _url(found.group())))
            position = found.end()
        pieces += self._with_files(text[position:], style)

    def _with_files(self, text: str, style: Style) -> list[Piece]:
        return with_files(text, style, self._theme.link, self._find_file)


def _url(address: str) -> Style:
    return Style(meta={"url": clean(address)})
