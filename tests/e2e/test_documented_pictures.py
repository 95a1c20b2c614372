"""The pictures in the documents: drawn by a script from the real program, and still what it looks like."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import environment
from tests.moving_picture import FRAMES
from tests.moving_picture import LARGEST as LARGEST_MOVING
from tests.moving_picture import NAME as MOVING
from tests.pictures import LARGEST, PICTURES, Picture, shown

ROOT = Path(__file__).parents[2]
NAMES = [picture.name for picture in PICTURES]


def check(path: Path, picture: Picture) -> None:
    drawn = path.read_text(encoding="utf-8")
    text = shown(drawn)
    assert [wanted for wanted in picture.shows if wanted not in text] == []
    # Nothing is fetched, and nothing is of the machine it was drawn on.
    assert addresses(drawn) - addresses(text) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in drawn
    assert "@font-face" not in drawn
    assert "/tmp" not in drawn
    assert str(Path.home()) not in drawn
    assert len(drawn.encode()) < LARGEST


def addresses(text: str) -> set[str]:
    # A line and the parts of a scroll bar may follow an address at once.
    return set(re.findall(r"https?://[^\s\"'<)&│▁-█]+", text))


@pytest.mark.parametrize("picture", PICTURES, ids=NAMES)
def test_a_picture_shows_what_it_should(picture: Picture) -> None:
    check(ROOT / "docs" / picture.name, picture)


def test_the_pages_show_each_picture_once_and_no_other_is_kept() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown_in_pages = [
        Path(target).name
        for page in pages
        for target in re.findall(r"!\[[^]]*\]\(([^)]*\.svg)\)", page.read_text(encoding="utf-8"))
    ]
    assert sorted(shown_in_pages) == sorted([*NAMES, MOVING])
    assert sorted(path.name for path in (ROOT / "docs").glob("*.svg")) == sorted([*NAMES, MOVING])


def test_the_moving_picture_is_small_and_fetches_nothing() -> None:
    drawn = (ROOT / "docs" / MOVING).read_text(encoding="utf-8")
    assert len(drawn.encode()) < LARGEST_MOVING
    assert drawn.count('class="f"') == FRAMES
    assert all(label in drawn for label in (" REPLAY ", " DEMO "))
    assert "<script" not in drawn
    assert "/tmp" not in drawn
    assert not re.findall(r'(?:href|src)="(?!#)', drawn)


@pytest.mark.slow
def test_the_script_draws_what_the_pages_show(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.pictures", str(tmp_path)],
        cwd=ROOT,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for picture in PICTURES:
        check(tmp_path / picture.name, picture)
        drawn, kept = ((folder / picture.name).read_text() for folder in (tmp_path, ROOT / "docs"))
        box = re.compile(r'viewBox="([^"]*)"')
        assert box.findall(drawn) == box.findall(kept)
        assert len(shown(drawn).splitlines()) == len(shown(kept).splitlines())
