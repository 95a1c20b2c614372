from __future__ import annotations

import asyncio
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from tests.packed import pack
from tests.tui.files_host import hosted, screen_text
from tests.tui.pane_host import handle_events
from tests.tui.viewers.test_viewers import shown
from tests.waiting import until
from ua_tui.core.events.types import ArtifactSaved
from ua_tui.core.storage.workspace import Workspace
from ua_tui.tui.panes.workspace.preview import PreviewPane
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.viewers.contract import FULL_LIMIT, PREVIEW_LIMIT
from ua_tui.tui.viewers.export import NotExportable, outside_target
from ua_tui.tui.viewers.reader import FileUnviewable, read_piece
from ua_tui.tui.viewers.registry import load, load_page

SEARCH = {"type": "web", "tool": "COMPOSIO_SEARCH_WEB", "query": "copper prices", "results": [
    {"title": f"Copper story {n}", "url": f"https://metal.example/{n}", "snippet": "words " * 900}
    for n in range(300)
]}  # fmt: skip


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    workspace = Workspace.create(tmp_path, datetime(2026, 3, 4, tzinfo=UTC))
    written = workspace.write_json_artifact("search_results/web_101500_abcdefghijklm.json", SEARCH)
    path = workspace.path / written.path
    assert path.suffix == ".zst"
    return path


def put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_a_packed_artifact_is_shown_as_what_it_is(artifact: Path) -> None:
    document = load(artifact, FULL_LIMIT)
    assert document.kind == "Search results"
    assert document.facts == ("300 results",)
    assert document.notice is None
    assert document.complete
    assert "Copper story 299" in shown(document)
    plain = artifact.with_name("plain.json")
    plain.write_bytes(zstandard.ZstdDecompressor().decompress(artifact.read_bytes()))
    same = load(plain, FULL_LIMIT)
    assert (same.size, same.kind, shown(same)) == (document.size, document.kind, shown(document))


def test_a_name_reported_before_the_form_changed_still_opens(artifact: Path) -> None:
    assert load(artifact.with_suffix(""), FULL_LIMIT).kind == "Search results"
    plain = put(artifact.parent, "b.json", b'{"a": 1}')
    assert load(plain.with_name("b.json.zst")).kind == "JSON"
    with pytest.raises(FileUnviewable, match="no longer exists"):
        load(artifact.with_name("gone.json"))


@pytest.mark.parametrize("suffix", [".zst", ".gz"])
def test_pages_of_a_packed_file_join_without_a_gap(tmp_path: Path, suffix: str) -> None:
    text = "".join(f"line {number}\n" for number in range(100_000)).encode()
    packed = pack(text) if suffix == ".zst" else gzip.compress(text)
    path = put(tmp_path, f"a.log{suffix}", packed)
    first = load(path, PREVIEW_LIMIT)
    assert (first.kind, first.size, first.packed) == ("Log", len(text), len(packed))
    at, joined = 0, b""
    while at < len(text):
        page = load_page(path, at)
        joined += read_piece(path, page.end - page.start, page.start).data
        at = page.end
    assert joined == text
    assert load_page(path, len(text) - 100, at_line=True).end == len(text)


def test_files_of_other_programs_open_too(tmp_path: Path) -> None:
    assert load(put(tmp_path, "a.JSON.GZ", gzip.compress(b'{"a": [1]}'))).kind == "JSON"
    stream = zstandard.ZstdCompressor().compressobj()
    unsized = stream.compress(b"# Title\n\ntext") + stream.flush()
    assert load(put(tmp_path, "a.md.zst", unsized)).kind == "Markdown"
    assert load(put(tmp_path, "a.csv.gz", gzip.compress(b"a,b\n") + gzip.compress(b"1,2\n"))).size == 8
    assert load(put(tmp_path, "empty.txt.zst", b"")).size == 0


@pytest.mark.parametrize(("name", "data", "expected"), [
    (
        "cut.json.zst", pack(b"[" + b"1,\n" * 9_000 + b"1]")[:-6],
        "The compressed data is cut short and cannot",
    ),
    ("other.json.zst", b"plain text", "The compressed data is damaged or not zstd data and cannot"),
    ("other.json.gz", b"plain text", "The compressed data is damaged or not gzip data and cannot"),
    (
        "bomb.json.zst", zstandard.ZstdCompressor().compress(bytes(300 << 20)),
        "The compressed data expands to more than 256 MiB and is not unpacked",
    ),
])  # fmt: skip
def test_what_cannot_be_unpacked_is_reported(tmp_path: Path, name: str, data: bytes, expected: str) -> None:
    path = put(tmp_path, name, data)
    with pytest.raises(FileUnviewable) as caught:
        load(path)
    assert str(caught.value).startswith(expected)


def test_a_link_to_a_packed_file_is_not_followed(artifact: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json.zst"
    link.symlink_to(artifact)
    with pytest.raises(FileUnviewable, match="a link"):
        load(link)
    with pytest.raises(FileUnviewable, match="a link"):
        load(tmp_path / "link.json")


def test_a_browser_is_given_what_is_in_a_packed_page_and_no_packed_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    page = put(tmp_path, "page.html.gz", gzip.compress(b"<script>x()</script><p>Words"))
    target = outside_target(page)
    assert target.sanitised
    (copy,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert "Words" in copy.read_text()
    assert "x()" not in copy.read_text()
    assert copy.suffix == ".html"
    with pytest.raises(NotExportable, match="compressed"):
        outside_target(put(tmp_path, "a.json.zst", pack(b"{}")))


async def test_a_preview_follows_an_artifact_into_its_other_form(artifact: Path) -> None:
    pane = PreviewPane()
    async with hosted(pane) as (app, _):
        pane.show_path(artifact)
        await until(lambda: "Copper story 0" in screen_text(app))
        assert "→" in str(pane.border_subtitle)
        await asyncio.to_thread(artifact.unlink)
        plain = put(artifact.parent, artifact.stem, json.dumps({"changed": True}).encode())
        handle_events(
            pane,
            [ArtifactSaved(path=f"search_results/{plain.name}", kind="k", size=1, sha256="", observer="o")],
        )
        await until(lambda: "changed" in screen_text(app))


async def test_the_viewer_shows_both_sizes(artifact: Path) -> None:
    async with hosted(screen=ViewerScreen(artifact, artifact.parents[1]), size=(120, 30)) as (app, _):
        await until(lambda: "Copper story 1" in screen_text(app))
        await until(lambda: " → 1.6M · 300 results" in screen_text(app))
        text = screen_text(app)
        assert "web_101500_abcdefghijklm.json.zst" in text
        assert "Search results · zst, " in text
