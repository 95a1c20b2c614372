from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.net.client import Fetcher
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.toolkit import files
from ua_tui.core.toolkit.articles import Article, Reference, encode_article
from ua_tui.core.toolkit.calls import ToolContext


def _no_fetcher() -> Fetcher:
    raise AssertionError("the file tools fetch nothing")


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    workspace = Workspace.open(tmp_path / "ws")
    yield ToolContext(workspace, _no_fetcher)
    workspace.close()


def _everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


async def test_write_reports_path_size_and_digest(context: ToolContext) -> None:
    content = "<h1>Report</h1>\n" * 3
    answer = json.loads(await files.write_local_file(context, "work_products/report.html", content))
    data = (context.workspace.path / "work_products/report.html").read_bytes()
    assert data == content.encode()
    assert answer == {
        "path": "work_products/report.html", "size": len(data), "sha256": hashlib.sha256(data).hexdigest(),
    }  # fmt: skip


REFUSED = [
    "../x", "/etc/x", "../ws_evil/x", "sub/.env", "CLAUDE.md", "journal.jsonl", "report_checks/a.html.json",
    ".conversation/1.jsonl", "Trace.JSON",
]  # fmt: skip


async def test_write_refuses_paths_and_the_next_write_works(context: ToolContext, tmp_path: Path) -> None:
    before, root = _everything(tmp_path), context.workspace.path
    # Some that only look as if they were inside.
    for path in (*REFUSED, f"{root}_evil/x", f"{root}/../x", f"{root}//x", f"{root}/a/../../x"):
        with pytest.raises(PathRefused):
            await files.write_local_file(context, path, "x")
        assert _everything(tmp_path) == before, path
    await files.write_local_file(context, "ok.txt", "fine")


async def test_absolute_paths_inside_the_workspace_become_relative(context: ToolContext) -> None:
    root = context.workspace.path
    answer = json.loads(await files.write_local_file(context, f"{root}/downloads/a.txt", "a"))
    assert answer["path"] == "downloads/a.txt"
    assert await files.read_local_file(context, f"{root}/downloads/a.txt") == "a"
    assert "a.txt" in await files.list_directory(context, f"{root}/downloads")
    assert "downloads/" in await files.list_directory(context, f"{root}/")


async def test_the_addresses_of_an_article_are_a_part_of_their_own(context: ToolContext) -> None:
    links = (Reference("here", "https://a.example/"), Reference("1", "https://b.example/"))
    article = Article(title="T", url="https://c.example/", text="Look [here] and [here][1].", links=links)
    source = encode_article(article)
    context.workspace.write("search_results/crawl_a.md", source)
    text, _, notice = (await files.read_local_file(context, "search_results/crawl_a.md")).rpartition("\n")
    assert text.endswith("\nLook [here] and [here][1].")
    left = f"{len(source) - len(text)} are left, the addresses of the links"
    assert (
        notice == f"[Characters 0 to {len(text)} of {len(source)}. {left}: read on with offset={len(text)}.]"
    )
    rest = await files.read_local_file(context, "search_results/crawl_a.md", offset=len(text))
    assert text + rest == source
    assert rest.split() == ["[here]:", "<https://a.example/>", "[1]:", "<https://b.example/>"]


async def test_read_in_parts_gives_back_the_whole_text(context: ToolContext) -> None:
    text = "".join(chr(0x4E00 + number % 500) for number in range(2_500)) + "end\n"
    await files.write_local_file(context, "long.txt", text)
    parts: list[str] = []
    offset = 0
    for _ in range(10):
        part = await files.read_local_file(context, "long.txt", offset, 1_000)
        body, found, notice = part.rpartition("\n[Characters ")
        if not found:
            parts.append(part)
            break
        left = len(text) - offset - len(body)
        assert f"{left} are left" in notice
        assert f"offset={offset + len(body)}" in notice
        parts.append(body)
        offset += len(body)
    assert "".join(parts) == text


async def test_read_says_what_cannot_be_read(context: ToolContext) -> None:
    root = context.workspace.path
    (root / "image.png").write_bytes(b"\x89PNG\0\0")
    (root / "empty.txt").touch()
    os.mkfifo(root / "pipe")
    with pytest.raises(WorkspaceError, match="not a text file"):
        await files.read_local_file(context, "image.png")
    with pytest.raises(WorkspaceError):
        await files.read_local_file(context, "pipe")
    with pytest.raises(WorkspaceError, match=r"missing\.txt"):
        await files.read_local_file(context, "missing.txt")
    with pytest.raises(WorkspaceError, match="beyond the end"):
        await files.read_local_file(context, "empty.txt", offset=5)
    assert await files.read_local_file(context, "empty.txt") == "[The file is empty.]"
    with pytest.raises(WorkspaceError, match="nowhere"):
        await files.list_directory(context, "nowhere")


async def test_list_shows_kinds_sizes_and_names(context: ToolContext) -> None:
    root = context.workspace.path
    (root / "sub").mkdir()
    (root / "report.html").write_text("x" * 1234)
    (root / "plain").write_text("")
    (root / "esc\x1b[2J.txt").write_text("")
    lines = (await files.list_directory(context)).splitlines()
    assert lines[0] == "workspace: 4 entries"
    assert lines[1].split() == ["folder", "-", "sub/"]
    assert ["html", "1,234", "report.html"] in [line.split() for line in lines]
    assert ["file", "0", "plain"] in [line.split() for line in lines]
    assert "\x1b" not in "".join(lines)
    assert (await files.list_directory(context, "sub/")) == "sub/: 0 entries"
