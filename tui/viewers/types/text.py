"""Text, source code, and bytes as a hex dump."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.content import Span

from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.text import TextBody, line_facts, style_code
from ua_tui.tui.viewers.contract import Sample, View, Viewer

# A table, as pygments searches every installed package for the lexer of a file name.
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


def _language(sample: Sample) -> str | None:
    return _NAMES.get(sample.name) or _SUFFIXES.get(sample.suffix)


def _view_code(sample: Sample) -> View:
    language = _language(sample) or ""
    body = TextBody(sample.text, style=style_code(sample.text, language), numbers=True)
    kind = language.upper() if len(language) <= 4 else language.capitalize()
    return View(kind, body, None, line_facts(body) if sample.complete else ())


CODE = Viewer(
    "source code", lambda sample: bool(sample.data) and _language(sample) is not None, _view_code, priority=10
)


_MAGIC = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "Zip archive"),
    (b"\x1f\x8b", "Gzip data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard data"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\x7fELF", "Program (ELF)"),
)


def _view_binary(sample: Sample) -> View:
    kind = next((name for magic, name in _MAGIC if sample.data.startswith(magic)), "Binary file")
    return View(kind, HexBody(sample.data, sample.piece.offset))


BINARY = Viewer("binary", lambda sample: sample.binary, _view_binary, priority=90)


_LOGS = frozenset({".log", ".out", ".err"})
_TIME = re.compile(r"^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?")
_WORDS = re.compile(
    r"(?P<bad>\b(?:ERROR|CRITICAL|FATAL|Traceback|failed)\b|✗)"
    r"|(?P<warn>\b(?:WARN|WARNING)\b|⊘|⟲)"
    r"|(?P<good>✓)"
    r"|(?P<dim>\b(?:DEBUG|INFO)\b)"
    r"|(?P<link>https?://[^\s<>\"')\]]+)"
)


def _style_log_line(number: int, line: str) -> Sequence[Span]:
    spans: list[Span] = []
    if time := _TIME.match(line):
        spans.append(Span(0, time.end(), "dim"))
    spans += (
        Span(match.start(), match.end(), str(match.lastgroup)) for match in _WORDS.finditer(line, 0, 4_000)
    )
    return spans


def _view_text(sample: Sample) -> View:
    is_log = sample.suffix in _LOGS
    kind = "Log" if is_log else "Text"
    body = TextBody(sample.text, style=_style_log_line if is_log else "")
    if not sample.data:
        return View(kind, body, notice="This file is empty.")
    return View(kind, body, None, line_facts(body) if sample.complete else ())


TEXT = Viewer("text", lambda sample: True, _view_text, priority=0)
