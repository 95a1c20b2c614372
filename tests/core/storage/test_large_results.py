from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ua_tui.core.events.types import ToolCallFinished
from ua_tui.core.observation import AnyObservation, ContentBlock, ImageContent, McpObservation, TextContent
from ua_tui.core.records.journal import journal_line
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.large_results import INLINE_LIMIT, store_large_result
from ua_tui.core.storage.workspace import Workspace

SECRET = "hunter2hunter2-and-more-of-it"
PICTURE = ImageContent(base64.b64encode(bytes(15_000)).decode())


@pytest.fixture
def redactor() -> Redactor:
    return Redactor([SECRET])


@pytest.fixture
def workspace(tmp_path: Path, redactor: Redactor) -> Workspace:
    return Workspace.open(tmp_path / "session", redactor)


def observed(*content: ContentBlock | str, error: str | None = None) -> McpObservation:
    blocks = tuple(TextContent(block) if isinstance(block, str) else block for block in content)
    return McpObservation(tool_name="t", tool_use_id="toolu_1", server="s", content=blocks, error=error)


def read_stored(shown: AnyObservation, workspace: Workspace) -> AnyObservation:
    data = workspace.read_artifact(shown.stored_at or "")
    content = msgspec.json.decode(data, type=tuple[TextContent | ImageContent, ...])
    return msgspec.structs.replace(shown, content=content)


def texts_in(observation: AnyObservation) -> list[str]:
    return [block.text for block in observation.content if isinstance(block, TextContent)]


def test_a_small_result_travels_whole_without_its_secrets(workspace: Workspace, redactor: Redactor) -> None:
    given = observed(f"a {SECRET} b", PICTURE, error=f"failed with {SECRET}")
    whole, shown = store_large_result(given, workspace, redactor)
    assert whole is given
    assert (texts_in(shown), shown.images) == (["a [redacted] b"], (PICTURE,))
    assert (shown.error, shown.stored_at) == ("failed with [redacted]", None)
    assert workspace.list() == []


TEXTS: list[list[Any]] = [
    ["plain words " * 400_000], ["会議の結果 " * 200_000], ["\x1b" * 60_000], ["\x1b" * 10_000], ["\ud800" * 30_000],
    ["one of many blocks"] * 20_000, ["\x1b" * 5_000] * 200, ["text", *[PICTURE] * 50],
]  # fmt: skip


@pytest.mark.parametrize(
    "given", [*(observed(*each) for each in TEXTS), observed("x", error="why " * 100_000)]
)
def test_what_is_in_events_is_short(workspace: Workspace, redactor: Redactor, given: McpObservation) -> None:
    whole, shown = store_large_result(given, workspace, redactor)
    assert whole.content == given.content
    (stored,) = workspace.list("tool_results")
    assert shown.stored_at == whole.stored_at == f"tool_results/{stored.name}"
    assert stored.name in ("toolu_1.json", "toolu_1.json.zst")
    assert stored.size < 1 << 20
    event = ToolCallFinished(tool_use_id="toolu_1", status="success", observation=shown)
    assert len(journal_line(event, redactor)) <= 128 << 10
    assert sum(map(len, texts_in(shown))) <= 16_500
    assert len(shown.error or "") <= 2_048
    assert sum(len(picture.data) for picture in shown.images) <= INLINE_LIMIT
    assert read_stored(shown, workspace).images == given.images
    cut = "".join(texts_in(shown)) != "".join(texts_in(given))
    assert cut == any("characters left out" in text for text in texts_in(shown))


def test_a_stored_result_is_a_list_of_clean_blocks(workspace: Workspace, redactor: Redactor) -> None:
    given = observed("first " * 20_000, PICTURE, f"second {SECRET}")
    _, shown = store_large_result(given, workspace, redactor)
    assert msgspec.json.decode(workspace.read(shown.stored_at or "")) == [
        {"type": "text", "text": "first " * 20_000},
        {"type": "image", "data": PICTURE.data, "mime_type": "image/png"},
        {"type": "text", "text": "second [redacted]"},
    ]
    assert texts_in(read_stored(shown, workspace)) == ["first " * 20_000, "second [redacted]"]


def test_no_half_of_a_secret_is_left_where_a_preview_is_cut(workspace: Workspace, redactor: Redactor) -> None:
    for before_the_cut in range(8_130, 8_195, 4):
        start, end = "x" * (before_the_cut - 15), "z" * (before_the_cut - 15)
        text = f"{start} {SECRET} {'y' * 100_000} {SECRET} {end}"
        _, shown = store_large_result(observed(text, error=text), workspace, redactor)
        for reported in (*texts_in(shown), shown.error or ""):
            assert "hunter2" not in reported
            assert "more-of-it" not in reported


def test_a_preview_travels_alone_if_no_file_can_be_written(workspace: Workspace, redactor: Redactor) -> None:
    workspace.write("tool_results", b"a file where the folder belongs")
    whole, shown = store_large_result(observed("x" * 100_000), workspace, redactor)
    assert whole.stored_at is shown.stored_at is None
    assert whole.output == "x" * 100_000
    assert len(shown.output) <= 16_384
