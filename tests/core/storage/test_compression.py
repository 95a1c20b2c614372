from __future__ import annotations

import gzip
import io
import json
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.packed import pack, unpack
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import LIMIT, Unpacked, inner_name
from ua_tui.core.storage.workspace import Workspace

CANARY = "canary-8c1f-QzX27"
LONG = "".join(f"{number} lines of an article\n" for number in range(60_000))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path, datetime(2026, 3, 4, tzinfo=UTC), Redactor([CANARY]))


@given(st.binary(max_size=5_000))
def test_what_was_packed_comes_back(data: bytes) -> None:
    assert unpack(pack(data), len(data)) == data
    # Frames one after the other are one text.
    assert unpack(pack(data) + zstandard.ZstdCompressor().compress(b"b"), len(data) + 1) == data + b"b"


@pytest.mark.parametrize("kind", ["reported", "stream", "gzip"])
def test_a_bomb_is_given_up_with_little_memory_used(kind: str) -> None:
    if kind == "gzip":
        bomb = gzip.compress(bytes(128 << 20), 1)
    elif kind == "reported":
        bomb = zstandard.ZstdCompressor().compress(bytes(128 << 20))
    else:
        stream = zstandard.ZstdCompressor().compressobj()
        bomb = stream.compress(bytes(128 << 20)) + stream.flush()
    packed = Unpacked(io.BytesIO(bomb), ".gz", largest=2_000_000) if kind == "gzip" else None
    tracemalloc.start()
    with pytest.raises(WorkspaceError, match="expands to more than 2,000,000 bytes"):
        _ = packed.read(64 << 20) if packed is not None else unpack(bomb, 2_000_000)
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_data_cut_short_is_refused() -> None:
    for cut in (0, 1, 5, 100, -1, -4):
        with pytest.raises(WorkspaceError, match="compressed data"):
            unpack(pack(LONG.encode())[:cut])


def test_every_changed_byte_of_a_frame_is_noticed() -> None:
    text = os.urandom(300) + b"words " * 50
    packed = pack(text)
    for place in range(len(packed)):
        spoilt = packed[:place] + bytes([packed[place] ^ 0x55]) + packed[place + 1 :]
        try:
            assert unpack(spoilt) == text
        except WorkspaceError:
            continue


@given(st.binary(max_size=400))
def test_bytes_that_are_no_packed_data_are_refused_plainly(data: bytes) -> None:
    for suffix in (".zst", ".gz"):
        with pytest.raises(WorkspaceError, match="the compressed data"):
            Unpacked(io.BytesIO(b"no " + data), suffix).read(1_000)


def test_reading_stops_and_continues_at_the_byte() -> None:
    whole = LONG.encode()
    for file, suffix in (
        (pack(whole), ".zst"),
        (gzip.compress(whole[:700]) + gzip.compress(whole[700:]), ".gz"),
    ):
        unpacked = Unpacked(io.BytesIO(file), suffix)
        assert unpacked.size == (len(whole) if suffix == ".zst" else None)
        assert unpacked.read(1_000) == whole[:1_000]
        assert unpacked.read(500_000) == whole[1_000:501_000]
        assert unpacked.read(33) == whole[501_000:501_033]
        assert unpacked.more
        assert unpacked.read(10 << 20) == whole[501_033:]
        assert not unpacked.more


def test_the_name_of_what_is_packed() -> None:
    names = {
        "a.json.zst": "a.json",
        "b/A.TXT.GZ": "b/A.TXT",
        ".zst": ".zst",
        "b/.gz": "b/.gz",
        "a.md": "a.md",
    }
    assert {name: inner_name(name) for name in names} == names


def test_an_artifact_above_the_limit_is_packed_and_reads_as_if_it_were_not(workspace: Workspace) -> None:
    text = f"{CANARY} {LONG}"
    written = workspace.write_artifact("search_results/a.txt", text)
    assert written.path == "search_results/a.txt.zst"
    assert [entry.name for entry in workspace.list("search_results")] == ["a.txt.zst"]
    on_disk = (workspace.path / written.path).read_bytes()
    assert written.size == len(on_disk) < len(text) // 3
    shown = workspace.redactor.redact(text).encode()
    assert CANARY.encode() not in zstandard.ZstdDecompressor().decompress(on_disk) == shown
    for name in ("search_results/a.txt", "search_results/a.txt.zst"):
        assert workspace.read_artifact(name) == shown
        assert workspace.read_artifact(name, 1_000) == shown[:1_000]
        assert workspace.artifact_path(name) == written.path


def test_an_artifact_at_the_limit_stays_plain_and_a_damaged_one_is_named(
    workspace: Workspace,
) -> None:
    written = workspace.write_artifact("search_results/a.txt", "x" * LIMIT)
    assert written.path == "search_results/a.txt"
    assert workspace.read_artifact("search_results/a.txt.zst") == b"x" * LIMIT
    workspace.write("a.json.zst", pack(LONG.encode())[:-50])
    with pytest.raises(WorkspaceError, match=r"cannot read 'a\.json\.zst': the compressed data is cut short"):
        workspace.read_artifact("a.json")
    with pytest.raises(WorkspaceError, match=r"'gone\.json'"):
        workspace.read_artifact("gone.json")


@pytest.mark.parametrize("name", ["search_results/a.json", "search_results/a.json.zst"])
def test_an_artifact_that_changes_its_form_leaves_one_file(workspace: Workspace, name: str) -> None:
    for value, form in (({"a": LONG}, "a.json.zst"), ({"a": 1}, "a.json"), ({"a": LONG + "b"}, "a.json.zst")):
        written = workspace.write_json_artifact(name, value)
        assert written.path == f"search_results/{form}"
        assert [entry.name for entry in workspace.list("search_results")] == [form]
        assert json.loads(workspace.read_artifact(name)) == value


def test_nothing_but_a_file_is_removed(workspace: Workspace) -> None:
    root = workspace.root
    root.write("a.txt", b"x")
    assert root.remove("a.txt")
    assert not root.remove("a.txt")
    assert not root.remove("nowhere/a.txt")
    (workspace.path / "link").symlink_to(workspace.path / "downloads")
    for name in ("link", "link/a.txt"):
        with pytest.raises(PathRefused):
            root.remove(name)
    with pytest.raises(WorkspaceError, match="Is a directory"):
        root.remove("downloads")
    with pytest.raises(PathRefused):
        root.remove("../a.txt")
