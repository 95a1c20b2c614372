"""The pictures in the README: drawn by a script from the real program, and still what it looks like."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import environment
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
    return set(re.findall(r"https?://[^\s\"'<)&│]+", text))


@pytest.mark.parametrize("picture", PICTURES, ids=NAMES)
def test_the_readme_shows_pictures_that_hold_what_they_should(picture: Picture) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count(f"](docs/{picture.name})") == 1
    check(ROOT / "docs" / picture.name, picture)


def test_no_other_picture_is_shown_or_kept() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\(docs/([^)]*\.svg)\)", readme)) == sorted(NAMES)
    assert sorted(path.name for path in (ROOT / "docs").glob("*.svg")) == sorted(NAMES)


@pytest.mark.timeout(400)
def test_the_script_draws_what_the_readme_shows(tmp_path: Path) -> None:
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
