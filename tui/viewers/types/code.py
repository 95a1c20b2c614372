"""Source code with syntax colours."""

from __future__ import annotations

from ua_tui.tui.viewers.bodies.code import style_code
from ua_tui.tui.viewers.bodies.text import TextBody, line_facts
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


def _view(sample: Sample) -> View:
    language = _language(sample) or ""
    body = TextBody(sample.text, style=style_code(sample.text, language, sample.stop), numbers=True)
    kind = language.upper() if len(language) <= 4 else language.capitalize()
    return View(kind, body, None, line_facts(body) if sample.complete else ())


VIEWER = Viewer(
    "source code", lambda sample: bool(sample.data) and _language(sample) is not None, _view, priority=10
)
