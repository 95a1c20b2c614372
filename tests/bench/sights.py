from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

MB = 1_000_000
LINES_AT_ONCE = 50_000
LOG = b"2026-11-21T14:02:10.482Z INFO fetched page %07d of the survey in 812 ms, 48 kB\n"
ROW = "{0},name {1},{1},{2:.2f},2026-11-{3:02d},https://example.org/{0}/story\n"
SHORT_ROW = "{0},name {1},{1},{2:.2f},2026-11-{3:02d}\n"


def _rows(row: str, count: int) -> Iterator[str]:
    for first in range(0, count, LINES_AT_ONCE):
        yield "".join(
            row.format(number, number * 7_919 % count, number * 31 % 9_973 / 7, number % 28 + 1)
            for number in range(first, min(first + LINES_AT_ONCE, count))
        )


def _csv(row: str, count: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.write("id,name,rank,score,day,address\n")
            file.writelines(_rows(row, count))

    return make


def _json_line(path: Path) -> None:
    items = [{"id": number, "title": f"Story {number}", "tags": ["ai", "chips"]} for number in range(85_000)]
    path.write_text(json.dumps({"items": items}), encoding="utf-8")


def _text_line(path: Path) -> None:
    path.write_text("the quick brown fox jumps over the lazy dog " * (5 * MB // 44), encoding="utf-8")


def _log(path: Path) -> None:
    page = b"".join(LOG % number for number in range(12_500))
    with path.open("wb") as file:
        for _ in range(1_000 * MB // len(page)):
            file.write(page)


def _numbers(path: Path) -> None:
    path.write_text("[" + ",".join(map(str, range(5_000_000))) + "]", encoding="utf-8")


def _nested(path: Path) -> None:
    path.write_text('{"a":[' * 100_000 + "1" + "]}" * 100_000, encoding="utf-8")


def _markdown(path: Path) -> None:
    lines = [
        "# Survey",
        "",
        "| " + " | ".join(f"column {number}" for number in range(20)) + " |",
        "|---" * 20 + "|",
    ]
    lines += [
        "| " + " | ".join(f"value **{row}**.{number}" for number in range(20)) + " |" for row in range(500)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


SIGHTS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "large.csv": ("a CSV of 62 MB", _csv(ROW, 950_000)),
    "line.json": ("JSON of 5 MB on one line", _json_line),
    "line.txt": ("text of 5 MB on one line", _text_line),
    "large.log": ("a log of 1 GB", _log),
    "numbers.json": ("a JSON list of 5 million numbers", _numbers),
    "nested.json": ("JSON nested 200,000 deep", _nested),
    "table.md": ("a Markdown table of 500x20", _markdown),
}
"""Name of the file, what it is in words, and how to write it."""

SORTED = "million.csv"


def make_million(path: Path) -> None:
    """Write the CSV of a million rows whose sorting is measured."""
    _csv(SHORT_ROW, 1_000_000)(path)
