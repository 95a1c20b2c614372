from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.errors import ObserverError, WorkspaceError
from ua_tui.core.media_types import media_type
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.files import AlreadyThere, Root
from ua_tui.observers import media
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.media import Media

Make = Callable[..., ToolResult]
MP4 = b"\x00\x00\x00\x18ftypisom" + bytes(range(256)) * 8


def take(context: ObserverContext, result: Make, path: str) -> Any:
    return Media().observe(result("mcp__v__trim_video", "done", output_path=path), context)


def names(context: ObserverContext) -> list[str]:
    return [entry.name for entry in context.workspace.list("work_products/media")]


def test_a_film_of_several_pieces_is_copied_whole(context: ObserverContext, result: Make) -> None:
    data = MP4 + os.urandom((3 << 20) + 17)
    context.workspace.write("downloads/long.mp4", data)
    saved = take(context, result, "downloads/long.mp4").artifacts[0]
    assert (saved.size, saved.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert context.workspace.read(saved.path) == data


def test_equal_bytes_are_not_copied_twice_and_others_of_equal_size_are(
    context: ObserverContext, result: Make
) -> None:
    context.workspace.write("downloads/a.mp4", MP4)
    assert take(context, result, "downloads/a.mp4").items == 1
    assert take(context, result, "downloads/a.mp4").duplicates == 1
    context.workspace.write("downloads/a.mp4", MP4[:-1] + b"!")
    assert take(context, result, "downloads/a.mp4").items == 1
    assert take(context, result, "downloads/a.mp4").duplicates == 1
    assert names(context) == ["a-2.mp4", "a.mp4"]


def test_a_film_above_the_limit_is_named_and_left(
    context: ObserverContext, result: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "MAX_SIZE", 1 << 20)
    context.workspace.write("downloads/a.mp4", MP4)
    os.truncate(context.workspace.path / "downloads/a.mp4", (1 << 20) + 1)
    outcome = take(context, result, "downloads/a.mp4")
    assert (outcome.artifacts, outcome.rejected) == ((), 1)
    assert "larger than 1 MiB" in (outcome.note or "")
    os.truncate(context.workspace.path / "downloads/a.mp4", 1 << 20)
    assert take(context, result, "downloads/a.mp4").items == 1


def test_a_film_that_grows_meanwhile_is_left(
    context: ObserverContext, result: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.workspace.write("downloads/a.mp4", MP4)
    write_chunks = Root.write_chunks

    def slowly(root: Root, relative: str, chunks: Iterator[bytes], **options: Any) -> Any:
        with (context.workspace.path / "downloads/a.mp4").open("ab") as file:
            file.write(b"more")
        return write_chunks(root, relative, chunks, **options)

    monkeypatch.setattr(Root, "write_chunks", slowly)
    outcome = take(context, result, "downloads/a.mp4")
    assert "changed while" in (outcome.note or "")
    assert list((context.workspace.path / "work_products/media").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"output_path": "a"}, True), ({"outputPath": "a.mp4"}, True),
        ({"output_paths": ["a.mp4", "b.mp4"]}, True), ({"output": "a.mp4"}, True),
        ({"output": "json"}, False), ({"destination": "Oslo"}, False), ({"path": "a.mp4"}, False),
    ],
)  # fmt: skip
def test_any_tool_with_an_output_path_is_observed(arguments: dict[str, Any], wanted: bool) -> None:
    assert bool(Media().wants(ToolCall(tool_use_id="t", name="mcp__x__run", input=arguments))) is wanted


@pytest.mark.parametrize(
    ("tool", "answer", "found"),
    [
        ("trim_video", {"success": True, "output_path": "downloads/a.mp4"}, ["a.mp4"]),
        ("trim_video", {"data": {"result": {"output_file": "downloads/a.mp4", "seconds": 4}}}, ["a.mp4"]),
        ("trim_video", {"result": '{"status": "ok", "file": "downloads/a.mp4"}'}, ["a.mp4"]),
        ("download_video", [{"path": "downloads/a.mp4"}, {"path": "downloads/b.mp4"}], ["a.mp4", "b.mp4"]),
        ("download_video", {"files": ["downloads/a.mp4", "downloads/b.mp4"]}, ["a.mp4", "b.mp4"]),
        ("trim_video", {"message": "Trimmed; saved to downloads/a.mp4"}, ["a.mp4"]),
        ("trim_video", {"video_path": "downloads/in.mp4", "output": {"path": "downloads/a.mp4"}}, ["a.mp4"]),
        ("trim_video", {"path": "downloads/in.mp4"}, []),
        ("trim_video", {"path": "downloads/notes.txt"}, []),
        ("list_videos", [{"path": "downloads/a.mp4"}], []),
        ("video_info", {"file": "downloads/a.mp4", "seconds": 12}, []),
        ("read_file", {"path": "downloads/a.mp4"}, []),
    ],
)  # fmt: skip
def test_the_output_is_found_in_the_result(
    context: ObserverContext, result: Make, tool: str, answer: Any, found: list[str]
) -> None:
    for number, name in enumerate(("in", "a", "b")):
        context.workspace.write(f"downloads/{name}.mp4", MP4 + bytes([number]))
    given = result(f"mcp__v__{tool}", answer, video_path="downloads/in.mp4")
    Media().observe(given, context)
    kept = context.workspace.exists("work_products/media")
    assert (names(context) if kept else []) == found


def test_a_copy_that_fails_does_not_hide_the_others(
    context: ObserverContext, result: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        context.workspace.write(f"downloads/{name}.mp4", MP4 + name.encode())
    write_chunks = Root.write_chunks

    def fail(root: Root, relative: str, chunks: Iterator[bytes], **options: Any) -> Any:
        if relative.endswith("b.mp4"):
            raise WorkspaceError("no room")
        return write_chunks(root, relative, chunks, **options)

    monkeypatch.setattr(Root, "write_chunks", fail)
    paths = [f"downloads/{name}.mp4" for name in "abc"]
    outcome = Media().observe(result("mcp__v__trim_video", "done", output_paths=paths), context)
    assert [saved.path for saved in outcome.artifacts] == [f"work_products/media/{name}.mp4" for name in "ac"]
    assert (outcome.rejected, outcome.note) == (1, "no room")
    with pytest.raises(WorkspaceError, match="no room"):
        take(context, result, "downloads/b.mp4")


def test_names_of_steps_are_passed_over_and_those_that_only_resemble_them_are_kept(
    context: ObserverContext, result: Make
) -> None:
    for name in ("temp_1", "tmp_a", "clip_part1", "clip_part", "a_part_2"):
        context.workspace.write(f"downloads/{name}.mp4", MP4)
        assert "intermediate" in (take(context, result, f"downloads/{name}.mp4").note or ""), name
    assert names(context) == []
    for number, name in enumerate(("first_dance", "spare_part_list", "template", "last_summer")):
        context.workspace.write(f"downloads/{name}.mp4", MP4 + bytes([number]))
        assert take(context, result, f"downloads/{name}.mp4").items == 1, name


def test_no_private_file_is_copied_whatever_it_begins_with(
    context: ObserverContext, result: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    temporary.mkdir()
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_bytes(MP4)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    downloads = context.workspace.path / "downloads"
    targets = ["/etc/passwd", "~/.ssh/id_rsa", "/proc/self/environ", str(home / ".ssh" / "id_rsa")]
    claims = [*targets, "../../../etc/passwd", f"{downloads}/../../../home/.ssh/id_rsa"]
    claims += ["\0.mp4", "a\ud800.mp4", "x" * 5_000, "downloads/../../a.mp4", "~/a.mp4", "/", "."]
    for folder in (downloads, temporary):
        for number, target in enumerate(targets):
            (folder / f"link{number}.mp4").symlink_to(os.path.expanduser(target))
        (folder / "way").symlink_to(home / ".ssh")
        (folder / "folder.mp4").mkdir()
        (folder / "text.mp4").write_text("not a film")
        os.mkfifo(folder / "pipe.mp4")
        with (folder / "sparse.mp4").open("wb") as file:
            file.write(MP4)
            file.truncate(20 << 30)
        claims += [str(path) for path in folder.iterdir()] + [str(folder / "way" / "id_rsa")]
    for claim in claims:
        outcome = take(context, result, claim)
        assert outcome.artifacts == (), claim
        assert outcome.note, claim
    assert context.workspace.list("work_products/media") == []
    for folder in (downloads, temporary):
        path = folder / f"{folder.name}.mp4"
        path.write_bytes(MP4 + folder.name.encode())
        (saved,) = (
            Media().observe(result("mcp__v__overlay", f"Overlay added, saved to {path}"), context).artifacts
        )
        assert saved.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_media_is_known_by_its_first_bytes() -> None:
    expected = {
        MP4: "video", b"RIFF\0\0\0\0WAVE": "audio", b"ID3\x04": "audio", b"\xff\xfb\x90\x00": "audio",
        b"\xff\xf3\x44\xc0": "audio", b"\x89PNG\r\n\x1a\n": "image", b"root:x:0:0": None, b"": None, b"<html>": None,
        "secret".encode("utf-16"): None, b"\xff\xff\xff\xff": None,
    }  # fmt: skip
    assert {head: media_type(head) for head in expected} == expected


def test_pieces_that_fail_leave_nothing_behind(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"begun"
        raise ObserverError("no more")

    root = Root(tmp_path)
    with pytest.raises(ObserverError):
        root.write_chunks("a.bin", pieces())
    assert list(tmp_path.iterdir()) == []
    assert root.write_chunks("a.bin", [b"ab", b"", b"c"]).sha256 == hashlib.sha256(b"abc").hexdigest()
    with pytest.raises(AlreadyThere):
        root.write_chunks("a.bin", [b"other"], replace=False)
    assert (tmp_path / "a.bin").read_bytes() == b"abc"
