"""Syntax colours for the lines of a text body."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Span

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.tui.render.markdown.highlight import within
from ua_tui.tui.viewers.bodies.text import LineStyler

# Lexers are regular expressions that hostile text can make slow, so long files, long lines and what takes long stay
# plain. Usual code of the greatest length takes less than a second.
_COLOURED_CHARACTERS = 100_000
_COLOURED_LINE = 500
_COLOURED_SECONDS = 2.0
_ROLES = (
    ("Token.Comment", "comment"),
    ("Token.Literal.String.Doc", "comment"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Keyword.Constant", "literal"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "key"),
    ("Token.Name.Decorator", "accent"),
    ("Token.Name.Builtin", "literal"),
    ("Token.Generic.Heading", "heading"),
    ("Token.Generic.Subheading", "heading"),
    ("Token.Generic.Deleted", "bad"),
    ("Token.Generic.Inserted", "good"),
    ("Token.Generic.Error", "bad"),
    ("Token.Generic.Emph", "emphasis"),
    ("Token.Generic.Strong", "strong"),
)


def highlight_lines(text: str, language: str, stop: Stop = NEVER) -> list[list[Span]]:
    """Return the coloured spans of the lines, of none if the language is unknown, of the first if it takes long.

    Raises:
        Stopped: the flag was set.
    """
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # ships no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # ships no types

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return []
    roles: dict[object, str | None] = {}
    lines: list[list[Span]] = [[]]
    column = 0
    for token, value in within(_COLOURED_SECONDS, lexer.get_tokens(text)):
        stop.check()
        if token not in roles:
            dotted = str(token)
            roles[token] = next((role for prefix, role in _ROLES if dotted.startswith(prefix)), None)
        role = roles[token]
        parts = value.split("\n")
        for index, part in enumerate(parts):
            if index:
                lines.append([])
                column = 0
            if part:
                if role:
                    lines[-1].append(Span(column, column + len(part), role))
                column += len(part)
    return lines


def style_code(text: str, language: str, stop: Stop = NEVER) -> LineStyler | None:
    """Return the line styler of a text in a language; None if the text is too long to be coloured.

    Raises:
        Stopped: the flag was set.
    """
    if len(text) > _COLOURED_CHARACTERS or any(len(line) > _COLOURED_LINE for line in text.split("\n")):
        return None
    spans = highlight_lines(text, language, stop)

    def style(number: int, line: str) -> Sequence[Span]:
        return spans[number] if number < len(spans) else ()

    return style
