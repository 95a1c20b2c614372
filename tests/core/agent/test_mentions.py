"""What counts as the name of a file in a query, where it leads, and which names lead nowhere."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.core.cases import cases_of
from ua_tui.core.agent.attachments.mentions import mentions_in
from ua_tui.core.agent.attachments.places import AttachmentPlaces, missing_names

TABLES = cases_of(__file__)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("places")
    for folder, names in TABLES["files"].items():
        for name in names:
            (base / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (base / folder / name).write_text(name)
    return base


@pytest.mark.parametrize(("text", "expected"), TABLES["cases"])
def test_a_name_leads_to_a_file_or_is_missing_or_is_no_name(
    base: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: list[list[str]]
) -> None:
    monkeypatch.setenv("HOME", str(base / "home"))
    places = AttachmentPlaces(base / "session", base / "start")
    text = text.format_map(msgspec.structs.asdict(places)) if "{s" in text else text
    missing = missing_names(text, places)
    found = {}
    for mention in mentions_in(text):
        path = places.locate(mention.path)
        if mention.path in missing:
            found[mention.path] = "missing"
        elif path is not None and path.exists():
            inside = (each for each in ("start", "session") if path.resolve().is_relative_to(base / each))
            found[mention.path] = next(inside, "elsewhere")
    assert found == {name.replace("{start}", str(places.start)).replace("{session}", str(places.session)): where
                     for name, where in expected}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "mention"),
    [
        ("start/data.csv", "@data.csv"),
        ("start/my docs/plan a.md", '@"my docs/plan a.md"'),
        ("start/notes.md", "@notes.md"),
        ("session/notes.md", "@{base}/session/notes.md"),
        ("session/attachments/photo.png", "@attachments/photo.png"),
        ("start/attachments/photo.png", "@./attachments/photo.png"),
        ("session/work_products/report.html", "@work_products/report.html"),
        ("home/home.txt", "@{base}/home/home.txt"),
    ],
)
def test_a_file_is_named_so_that_the_name_leads_to_it(base: Path, path: str, mention: str) -> None:
    places = AttachmentPlaces(base / "session", base / "start")
    written = places.mention(base / path)
    assert written == mention.replace("{base}", str(base))
    [read] = mentions_in(f"See {written}.")
    assert places.locate(read.path) == base / path


def test_a_near_name_is_meant(base: Path) -> None:
    places = AttachmentPlaces(base / "session", base / "start")
    for name, meant in (("data.cvs", "data.csv"), ("chart", "chart.png"), ("sales", "sales 2025.csv"),
                        ("data/q4", ""), ("my.pdf", "")):  # fmt: skip
        assert missing_names(f"@{name} x", places) == {name: meant}
    # The names of other people lead into the session's folder only.
    assert AttachmentPlaces(base / "session").candidates("data.csv") == (base / "session/data.csv",)
