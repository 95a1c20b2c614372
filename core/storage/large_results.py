"""Stores large tool results in files; their events carry a preview."""

from __future__ import annotations

import json

import msgspec

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.observation import AnyObservation, ContentBlock, ImageContent, TextContent
from ua_tui.core.redaction.redactor import Redactor, preview
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.storage.workspace import Workspace

# A journal line is made on the event loop: of this size it takes 1 to 3 ms, and below 10 ms whatever is in it.
INLINE_LIMIT = 48 << 10
FOLDER = "tool_results"
_MOST_BLOCKS = 64


def store_large_result(
    observation: AnyObservation, workspace: Workspace, redactor: Redactor
) -> tuple[AnyObservation, AnyObservation]:
    """Return the complete observation for observers, and a redacted, bounded one for events.

    One that takes more than `INLINE_LIMIT` bytes as JSON has its content written to `tool_results/`, as a JSON
    list of content blocks, packed above 1 MiB; both observations name the file in `stored_at`, and their error
    is cut to 2,048 characters. The one for events has previews of the text blocks, together at most 16,384
    characters, each with a notice of how much was left out, and the first pictures as far as they fit. When the file
    cannot be written the preview travels alone.

    Takes time in proportion to the result: call it in a thread.
    """
    if _weight(observation) <= INLINE_LIMIT:
        shown = msgspec.structs.replace(
            observation,
            content=tuple(
                TextContent(redactor.redact(block.text)) if isinstance(block, TextContent) else block
                for block in observation.content
            ),
            error=None if observation.error is None else redactor.redact(observation.error),
        )
        return observation, shown
    stored_at: str | None = None
    try:
        name = f"{FOLDER}/{safe_name(observation.tool_use_id)}.json"
        stored_at = workspace.write_json_artifact(name, msgspec.to_builtins(observation.content)).path
    except WorkspaceError as error:
        log.warning("a large tool result is kept as a preview only: %s", error)
    # Both get the same error: observers name their files by it, live and in a replay.
    reason = None if observation.error is None else preview(observation.error, 2 << 10, redactor)
    whole = msgspec.structs.replace(observation, stored_at=stored_at, error=reason)
    return whole, msgspec.structs.replace(whole, content=_previews(observation.content, redactor))


def _weight(observation: AnyObservation) -> int:
    """The bytes an observation takes in a line of JSON, where control characters count six each.

    A large one is not encoded: its characters count.
    """
    size = sum(map(len, observation.texts))
    if size > INLINE_LIMIT:
        return size
    try:
        return len(msgspec.json.encode(observation.without_output()))
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        pictures = sum(len(block.data) for block in observation.content if isinstance(block, ImageContent))
        return len(json.dumps([*observation.texts, observation.error])) + pictures


def _previews(content: tuple[ContentBlock, ...], redactor: Redactor) -> tuple[ContentBlock, ...]:
    texts = sum(isinstance(block, TextContent) for block in content)
    share = (16 << 10) // max(min(texts, _MOST_BLOCKS), 1)
    previews: list[ContentBlock] = []
    shown = left_out = pictures = 0
    for block in content:
        if isinstance(block, ImageContent):
            if pictures + len(block.data) <= (24 << 10):
                pictures += len(block.data)
                previews.append(block)
        elif shown < _MOST_BLOCKS:
            shown += 1
            previews.append(TextContent(preview(block.text, share, redactor)))
        else:
            left_out += len(block.text)
    if left_out:
        previews.append(TextContent(f"[… {left_out} characters left out …]"))
    return tuple(previews)
