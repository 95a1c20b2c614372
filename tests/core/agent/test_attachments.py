"""Files that a query names: how they are named, copied and prepared for the model."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image
from pypdf import PdfWriter

from tests.core.cases import cases_of
from ua_tui.core.agent.attachments import media
from ua_tui.core.agent.attachments.blocks import Attachments, is_media
from ua_tui.core.agent.attachments.media import MAX_EDGE, prepare_media
from ua_tui.core.agent.attachments.mentions import mention_of, mentions_in
from ua_tui.core.agent.attachments.places import LARGEST, attach
from ua_tui.core.concurrency.conversions import ConversionFailed, TooComplex
from ua_tui.core.errors import AgentError, WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace

CASES = cases_of(__file__)

SECRET = "sk-ant-api03-0123456789abcdef0123456789"


class Here:
    """Prepares files in this process, without the limits of a worker process."""

    problem: Exception | None = None

    def run(self, _task: str, data: bytes, *, seconds: float) -> dict[str, Any]:
        if self.problem is not None:
            raise self.problem
        try:
            return prepare(data)
        except Exception as error:
            raise ConversionFailed(str(error)) from error

    def close(self) -> None:
        """Nothing is running."""


class Refused:
    """Refuses files by their names, as permission rules would."""

    async def __call__(self, path: Path) -> bool:
        if "diary" in path.name:
            raise AgentError("a rule denies it")
        return "others" not in path.name


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.open(tmp_path / "session", Redactor([SECRET]))
    yield made
    made.close()


@pytest.fixture
def attachments(workspace: Workspace) -> Attachments:
    made = Attachments(workspace, Refused())
    made._conversions = cast("Any", Here())
    return made


def prepare(data: bytes) -> dict[str, Any]:
    return prepare_media(cast("Any", None), data)


def picture(kind: str, size: tuple[int, int], mode: str = "RGB", **more: Any) -> bytes:
    target = io.BytesIO()
    Image.new(mode, size, **({"color": "teal"} if mode == "RGB" else {})).save(target, kind, **more)
    return target.getvalue()


def pdf(pages: int, password: str = "") -> bytes:
    writer, target = PdfWriter(), io.BytesIO()
    for _ in range(pages):
        writer.add_blank_page(9, 9)
    if password:
        writer.encrypt(password, algorithm="RC4-40")
    writer.write(target)
    return target.getvalue()


def bomb(width: int, height: int) -> bytes:
    """The beginning of a PNG that claims to have so many pixels."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = (head, b"IDAT" + zlib.compress(b"\0" * 100))
    parts = (struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each)) for each in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_names_of_files_are_found_and_written() -> None:
    text = 'Compare @a.png, (@b/c.pdf) and @"my notes.md"; not me@example.org or @ alone.'
    assert [(each.path, text[each.start : each.end]) for each in mentions_in(text)] == [
        ("a.png", "@a.png"), ("b/c.pdf", "@b/c.pdf"), ("my notes.md", '@"my notes.md"'),
    ]  # fmt: skip
    for path in ("a.png", "x y.png", "a,b.png", "end."):
        mention = mention_of(path)
        assert [each.path for each in mentions_in(f"See {mention}.")] == [path]
    assert mention_of('a"b') is None
    assert mention_of("a\nb") is None


def test_a_file_is_copied_once_and_without_secrets(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Key File.txt").write_text(f"the key is {SECRET}")
    (folder / ".env").write_bytes(b"\xff")
    first = attach(workspace, folder / "Key File.txt")
    assert first == attach(workspace, folder / "Key File.txt") == "@attachments/key_file.txt"
    assert SECRET.encode() not in workspace.read("attachments/key_file.txt")
    (folder / "Key File.txt").write_text("another")
    assert attach(workspace, folder / "Key File.txt") == "@attachments/key_file-2.txt"
    # A name that other programs obey is changed; what is in the folder already stays where it is.
    assert ".env" not in attach(workspace, folder / ".env")
    assert attach(workspace, workspace.path / first[1:]) == first


def test_what_is_no_file_to_add_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(LARGEST + 1)
    for name, why in CASES["what_is_no_file_to_add_is_refused"]:
        with pytest.raises(WorkspaceError, match=why):
            attach(workspace, tmp_path / name)


def test_pictures_are_sent_as_they_are_or_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("PNG", "JPEG", "GIF", "WEBP"):
        data = picture(kind, (30, 20))
        assert prepare(data) == {
            "media_type": f"image/{kind.lower()}", "data": data, "width": 30, "height": 20,
        }  # fmt: skip
        assert is_media(data[:16])
    noise = io.BytesIO()
    Image.effect_noise((200, 200), 90).convert("RGBA").save(noise, "PNG")
    monkeypatch.setattr(media, "LARGEST_SENT", 9_000)
    for data, sent_as in (
        (picture("PNG", (MAX_EDGE + 1, 10)), "image/jpeg"),
        (picture("PNG", (10, MAX_EDGE + 1), "RGBA"), "image/png"),
        (picture("BMP", (30, 20)), "image/jpeg"),
        (picture("TIFF", (30, 20)), "image/jpeg"),
        (noise.getvalue(), "image/jpeg"),
    ):
        prepared = prepare(data)
        assert prepared["media_type"] == sent_as
        assert len(prepared["data"]) <= media.LARGEST_SENT
        with Image.open(io.BytesIO(prepared["data"])) as sent:
            assert max(sent.size) <= MAX_EDGE


def test_what_the_model_would_refuse_is_not_sent() -> None:
    assert "megapixels" in prepare(bomb(10_000, 10_000))["problem"]
    assert "megapixels" in prepare(bomb(60_000, 60_000))["problem"]
    assert "101 pages" in prepare(pdf(101))["problem"]
    assert "password" in prepare(pdf(1, "x"))["problem"]
    assert prepare(pdf(2))["pages"] == 2
    with pytest.raises(OSError, match="truncated"):
        prepare(picture("PNG", (300, 200))[:-40])


async def test_own_files_are_sent(workspace: Workspace, attachments: Attachments, tmp_path: Path) -> None:
    outside = tmp_path / "outside.png"
    outside.write_bytes(picture("PNG", (3, 2)))
    workspace.write("chart.png", outside.read_bytes())
    workspace.write("notes.md", "text")
    (workspace.path / "link.png").symlink_to(outside)
    here = workspace.path / "notes.md"
    text = f"@chart.png @chart.png @{here} @link.png @../outside.png @{outside} @missing.png @./notes.md"
    chart, notes = await attachments.of(text)
    assert (chart.file.path, chart.file.width, chart.block["type"]) == ("chart.png", 3, "image")
    assert notes.block == {"type": "text", "text": "The file notes.md, which the query names:\n\ntext"}
    assert (notes.file.path, notes.file.media_type, notes.file.size) == ("notes.md", "text/markdown", 4)
    assert await attachments.of("nothing is named") == ()


async def test_what_cannot_be_sent_is_named_with_why(workspace: Workspace, attachments: Attachments) -> None:
    workspace.write("torn.png", b"\x89PNG\r\n\x1a\n torn")
    workspace.write("bomb.png", bomb(60_000, 60_000))
    workspace.write("fine.png", picture("PNG", (3, 2)))
    for text, why in CASES["what_cannot_be_sent_is_named_with_why"]:
        with pytest.raises(AgentError, match=why):
            await attachments.of(text)
    for number in range(21):
        workspace.write(f"{number}.png", picture("PNG", (3, number + 1)))
    with pytest.raises(AgentError, match="too many files"):
        await attachments.of(" ".join(f"@{number}.png" for number in range(21)))
    Here.problem = TooComplex("it takes longer than 20 s")
    try:
        with pytest.raises(AgentError, match="it takes longer than 20 s"):
            await attachments.of("@fine.png")
    finally:
        Here.problem = None
    attachments.close()


async def test_files_elsewhere_are_copied_if_the_person_names_them(
    workspace: Workspace, attachments: Attachments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("note.txt", "my note.txt", "diary.txt"):
        (tmp_path / name).write_text(f"words of {name}, {SECRET}")
    (tmp_path / "link.txt").symlink_to(tmp_path / "diary.txt")
    for named in (f"@{tmp_path}/note.txt", "@../note.txt", "@~/note.txt", f'@"{tmp_path}/my note.txt"'):
        text = await attachments.copy_outside(f"Read {named}, please", f"Read {named}")
        [sent] = await attachments.of(text)
        assert text.startswith("Read @attachments/")
        assert text.endswith("note.txt), please")
        assert "words of" in sent.block["text"]
        assert SECRET not in sent.block["text"]
    (tmp_path / "others.txt").write_text("others")
    # Words of a command or a server name no file of this machine, and what is no file stays as it is.
    for text, typed in (
        (f"@{tmp_path}/note.txt", "/command"),
        ("@~nobody/x @../none @ann", "@~nobody/x @../none @ann"),
    ):
        assert await attachments.copy_outside(text, typed) == text
        assert await attachments.of(text) == ()
    # Rules hold for a file and for what a link leads to, and say nothing of what is not there.
    for name in ("diary.txt", "link.txt", "no_diary.txt"):
        with pytest.raises(AgentError, match=f"{name} is not read: a rule denies it. Remove its name"):
            await attachments.copy_outside(f"@{tmp_path}/{name}", f"@{tmp_path}/{name}")
    with pytest.raises(AgentError, match="a rule denies it"):
        await attachments.add(tmp_path / "diary.txt")
    workspace.write("diary.md", "mine")
    with pytest.raises(AgentError, match="a rule denies it"):
        await attachments.of("@diary.md")


async def test_a_long_text_is_sent_to_a_whole_line(workspace: Workspace, attachments: Attachments) -> None:
    workspace.write("long.txt", "".join(f"line {number}\n" for number in range(1, 20_001)))
    workspace.write("data.bin", b"a\0b")
    [sent] = await attachments.of("@long.txt @data.bin")
    head, _, text = sent.block["text"].partition("\n\n")
    last = text.rpartition("\n")[2]
    assert "long.txt, which the query names, to line" in head
    assert f"{int(last.removeprefix('line ')):,} of 20,001" in head
    assert len(text) <= 100_000


async def test_names_lead_to_the_start_folder_first(workspace: Workspace, tmp_path: Path) -> None:
    start = tmp_path / "mine/start"
    (start / "my data").mkdir(parents=True)
    for name in ("data.csv", "notes.md", "diary.txt", "others.txt"):
        (start / name).write_text(f"{name} of the person")
    for name in ("notes.md", "only.md"):
        workspace.write(name, f"{name} of the session")
    here = Attachments(workspace, Refused(), start)
    here._conversions = cast("Any", Here())

    async def sent(typed: str, text: str = "") -> tuple[str, list[str]]:
        text = await here.copy_outside(text or typed, typed)
        return text, [str(each.block["text"]).rpartition("\n")[2] for each in await here.of(text)]

    for typed, expected, texts in (
        ("@data.csv", "@attachments/data.csv (a copy of data.csv)", ["data.csv of the person"]),
        ("@notes.md", "@attachments/notes.md (a copy of notes.md)", ["notes.md of the person"]),
        (f"@{workspace.path}/notes.md", f"@{workspace.path}/notes.md", ["notes.md of the session"]),
        ("@../../session/notes.md", "@notes.md", ["notes.md of the session"]),
        ("@only.md", "@only.md", ["only.md of the session"]),
        ('look at @"my data/"', f"look at {start}/my data/ (a folder)", []),
        (f"@{start}/", f"@{start}/", []),
        ("@gone.csv @ann", "@gone.csv @ann", []),
        ("@others.txt", "@others.txt", []),
    ):
        assert await sent(typed) == (expected, texts)
    # In a text that the person did not write, a name leads into the session's folder only.
    assert await sent("/command", "@data.csv @notes.md") == (
        "@data.csv @notes.md",
        ["notes.md of the session"],
    )
    with pytest.raises(AgentError, match=r"diary\.txt is not read: a rule denies it"):
        await sent("@diary.txt")
    # A folder is named, and not copied.
    assert await here.add(start / "my data") == '@"my data/"'
