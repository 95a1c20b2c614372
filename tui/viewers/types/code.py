"""Source code with syntax colours."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Span

from tui.viewers.bodies.text import LineStyler, TextBody
from tui.viewers.registry import Sample, View, Viewer

__all__ = ["VIEWER", "highlight_lines", "style_code"]

# Lexers are regular expressions that hostile text can make slow: long files and long lines stay plain.
_COLOURED_CHARACTERS = 100_000
_COLOURED_LINE = 500
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


# A table, as asking pygments for a file name looks through every installed package.
_SUFFIXES = {
    ".bash": "bash", ".bat": "batch", ".c": "c", ".cc": "cpp", ".cfg": "ini", ".conf": "ini", ".cpp": "cpp",
    ".cs": "csharp", ".css": "css", ".diff": "diff", ".env": "bash", ".go": "go", ".h": "c", ".hpp": "cpp",
    ".ini": "ini", ".ipynb": "json", ".java": "java", ".jl": "julia", ".js": "javascript", ".jsx": "jsx",
    ".kt": "kotlin", ".less": "less", ".lua": "lua", ".mjs": "javascript", ".patch": "diff", ".php": "php",
    ".pl": "perl", ".ps1": "powershell", ".py": "python", ".pyi": "python", ".r": "r", ".rb": "ruby",
    ".rs": "rust", ".rst": "rst", ".scala": "scala", ".scss": "scss", ".sh": "bash", ".sql": "sql",
    ".svg": "xml", ".swift": "swift", ".tcss": "scss", ".tex": "tex", ".toml": "toml", ".ts": "typescript",
    ".tsx": "tsx", ".vue": "vue", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml", ".zsh": "bash",
}  # fmt: skip
_NAMES = {"dockerfile": "docker", "makefile": "make", "cmakelists.txt": "cmake"}


def highlight_lines(text: str, language: str) -> list[list[Span]]:
    """The coloured spans of every line; no spans when the language is not known."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # ships no types
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # ships no types

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return []
    roles: dict[object, str | None] = {}
    lines: list[list[Span]] = [[]]
    column = 0
    for token, value in lexer.get_tokens(text):
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


def _language(sample: Sample) -> str | None:
    return _NAMES.get(sample.name) or _SUFFIXES.get(sample.suffix)


def style_code(text: str, language: str) -> LineStyler | None:
    """The line styler of a whole text in a language; None where it is better left plain."""
    if len(text) > _COLOURED_CHARACTERS or any(len(line) > _COLOURED_LINE for line in text.split("\n")):
        return None
    spans = highlight_lines(text, language)

    def style(number: int, line: str) -> Sequence[Span]:
        return spans[number] if number < len(spans) else ()

    return style


def _view(sample: Sample) -> View:
    language = _language(sample) or ""
    body = TextBody(sample.text, style=style_code(sample.text, language), numbers=True)
    facts = (f"{len(body.lines):,} line{'' if len(body.lines) == 1 else 's'}",) if sample.complete else ()
    return View(language.upper() if len(language) <= 4 else language.capitalize(), body, None, facts)


VIEWER = Viewer("code", lambda sample: bool(sample.data) and _language(sample) is not None, _view)
