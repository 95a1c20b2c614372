"""The comparison of two versions on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.history.test_versions import Written
from tests.tui.files_host import hosted, screen_text
from tests.waiting import until
from ua_tui.tui.screens.files.compare import CompareScreen
from ua_tui.tui.screens.files.headings import ChoiceScreen
from ua_tui.tui.screens.files.viewer import ViewerScreen

PAGE = "<h1>Chips</h1>\n{}<p>{}</p>\n<p>The end.</p>"
_SAME = "".join(f"<p>Line {number} of the page.</p>\n" for number in range(30))


@pytest.fixture
def report(tmp_path: Path) -> Path:
    session = Written(tmp_path)
    session.write("work_products/report.html", PAGE.format(_SAME, "Prices rose by 9 percent."))
    session.write("work_products/other.html", "<p>Another page.</p>")
    session.write("work_products/copy.html", PAGE.format(_SAME, "Prices rose by 9 percent."))
    return session.write("work_products/report.html", PAGE.format(_SAME, "Prices rose by 11 percent, again."))


async def test_a_report_is_compared_with_the_version_before_it(report: Path) -> None:
    async with hosted(screen=ViewerScreen(report)) as (app, pilot):
        await pilot.press("v")
        await until(lambda: "1 change · lines: 1 changed" in screen_text(app))
        await until(lambda: "- Prices rose by 9 percent." in screen_text(app))
        text = screen_text(app)
        assert "+ Prices rose by 11 percent, again." in text
        assert "unchanged lines" in text
        assert "<p>" not in text, "the readable text is compared"
        assert "written by the agent" in text
        await pilot.press("n")
        assert "change 1 of 1" in screen_text(app)
        await pilot.press("m")
        await until(lambda: "<p>Prices rose by 9" in screen_text(app))
        await pilot.press("f", "G")
        await until(lambda: "only changes" in screen_text(app))
        await pilot.press("escape")
        assert isinstance(app.screen, ViewerScreen)


async def test_another_file_can_be_chosen_and_wide_screens_have_two_columns(report: Path) -> None:
    screen = CompareScreen(report)
    async with hosted(screen=screen, size=(140, 30)) as (app, pilot):
        await until(lambda: "- Prices rose" in screen_text(app))
        row = next(line for line in screen_text(app).splitlines() if "- Prices rose by 9" in line)
        assert "+ Prices rose by 11" in row
        await pilot.press("v")
        assert isinstance(app.screen, ChoiceScreen)
        assert "copy.html" not in screen_text(app), "a file that has the text of a version is no other text"
        await pilot.press("j", "enter")
        await until(lambda: "another file other.html" in screen_text(app))
        await until(lambda: "Another page." in screen_text(app))
        await pilot.resize_terminal(80, 24)
        await until(lambda: "│" not in "".join(screen_text(app).splitlines()[2:-1]))
        await until(lambda: "- Another page." in screen_text(app))


async def test_what_cannot_be_compared_is_explained(tmp_path: Path) -> None:
    for folder in ("one", "none"):
        (tmp_path / folder).mkdir()
    (tmp_path / "one/alone.txt").write_text("text")
    async with hosted() as (app, pilot):
        for name, shown in (
            ("one/alone.txt", "No other version of this file is known."),
            ("none/gone.txt", "This file no longer exists."),
        ):  # fmt: skip
            app.shown_text.clear()
            await app.push_screen(CompareScreen(tmp_path / name))
            await until(lambda shown=shown: shown in " ".join(screen_text(app).split()))  # type: ignore[misc]
            await pilot.press("n", "N", "f", "m", "v")
            await until(lambda: app.shown_text)
            assert app.shown_text == ["There is nothing to compare this file with."]
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(b"\0\1" + name.encode())
    async with hosted(screen=CompareScreen(tmp_path / "a.bin")) as (app, pilot):
        await until(lambda: "Press v to compare it with another file" in " ".join(screen_text(app).split()))
        await pilot.press("v", "enter")
        await until(lambda: "This file is not text" in screen_text(app))
