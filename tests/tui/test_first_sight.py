"""What takes long to read or to lay out shows its beginning first."""

from __future__ import annotations

from pathlib import Path

from tui.markdown import MarkdownTheme
from tui.viewers.document import Glanced, Rows
from tui.viewers.markdown_body import MarkdownBody
from tui.viewers.registry import load

THEME = MarkdownTheme()


def table(rows: int, columns: int) -> str:
    head = "|".join(f" column {number} " for number in range(columns))
    lines = [f"|{head}|", "|---" * columns + "|"]
    lines += ["|" + "|".join(f" {row}.{number} " for number in range(columns)) + "|" for row in range(rows)]
    return "\n".join(lines) + "\n"


def text_of(rows: Rows) -> str:
    found = [rows.row(y) for y in range(len(rows))]
    return "\n".join(row.plain if hasattr(row, "plain") else row.text for row in found)


class TestMarkdown:
    def test_the_first_rows_of_a_long_table_come_before_the_rest(self) -> None:
        body = MarkdownBody("# Survey\n\n" + table(500, 20))
        glance = body.glance(100, THEME)
        assert glance is not None
        assert "column 0" in text_of(glance)
        assert "20.0" in text_of(glance)
        whole = body.lay_out(100, THEME)
        assert len(glance) < len(whole) // 2
        assert "… 300 more rows" in text_of(whole)
        assert "|" not in text_of(whole), "a table is never cut where it would no longer be one"

    def test_the_first_rows_come_first_behind_front_matter_too(self, tmp_path: Path) -> None:
        path = tmp_path / "report.md"
        path.write_text("---\ntitle: Survey\n---\n" + table(500, 20))
        body = load(path).best
        assert isinstance(body, Glanced)
        glance = body.glance(100, THEME)
        assert glance is not None
        assert text_of(glance).startswith("title: Survey")
        assert "20.0" in text_of(glance)

    def test_a_long_text_of_blank_lines_has_no_first_rows(self) -> None:
        glance = MarkdownBody("\n" * 50_000 + "end").glance(80, THEME)
        assert glance is not None
        assert text_of(glance).strip() == ""
