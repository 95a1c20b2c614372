"""Keeps large tool results out of the events: the whole goes to a file, the event carries a preview."""

from __future__ import annotations

import logging

import msgspec

from core.errors import WorkspaceError
from core.names import safe_name
from core.observation import AnyObservation, ContentBlock, ImageContent, TextContent
from core.text import Redactor, middle_truncate
from core.workspace import Workspace

__all__ = ["FOLDER", "INLINE_LIMIT", "read_spilled", "spill"]

log = logging.getLogger(__name__)

INLINE_LIMIT = 128 << 10
FOLDER = "tool_results"
_PREVIEW = 16 << 10


def spill(
    observation: AnyObservation, workspace: Workspace, redactor: Redactor
) -> tuple[AnyObservation, AnyObservation]:
    """Return the observation for observers, whole, and the one for events, redacted and bounded.

    A result over `INLINE_LIMIT` bytes is written to `tool_results/`, as a JSON list of content blocks, and
    both observations name the file in `stored_at`. When it cannot be written the preview travels alone.
    """
    if observation.size <= INLINE_LIMIT:
        shown = msgspec.structs.replace(
            observation,
            content=tuple(_redacted(block, redactor) for block in observation.content),
            error=_redact(observation.error, redactor),
        )
        return observation, shown
    stored_at: str | None = f"{FOLDER}/{safe_name(observation.tool_use_id)}.json"
    try:
        workspace.write_json(stored_at or "", msgspec.to_builtins(observation.content))
    except WorkspaceError as error:
        log.warning("a large tool result is kept as a preview only: %s", error)
        stored_at = None
    whole = msgspec.structs.replace(observation, stored_at=stored_at)
    preview: list[ContentBlock] = []
    for block in observation.content:
        if isinstance(block, TextContent):
            preview.append(TextContent(redactor.redact(middle_truncate(block.text, _PREVIEW))))
        elif len(block.data) <= INLINE_LIMIT:
            preview.append(block)
    changes: dict[str, object] = {"content": tuple(preview), "error": _redact(observation.error, redactor)}
    if hasattr(observation, "structured"):
        changes["structured"] = None
    return whole, msgspec.structs.replace(whole, **changes)


def read_spilled(observation: AnyObservation, workspace: Workspace) -> AnyObservation:
    """Put a stored result back into its observation; unchanged when it is not stored or is gone."""
    if observation.stored_at is None:
        return observation
    try:
        data = workspace.read(observation.stored_at)
        content = msgspec.json.decode(data, type=tuple[TextContent | ImageContent, ...])
    except (WorkspaceError, msgspec.DecodeError, RecursionError) as error:
        log.warning("the stored result %s could not be read: %s", observation.stored_at, error)
        return observation
    return msgspec.structs.replace(observation, content=content)


def _redacted(block: ContentBlock, redactor: Redactor) -> ContentBlock:
    return TextContent(redactor.redact(block.text)) if isinstance(block, TextContent) else block


def _redact(text: str | None, redactor: Redactor) -> str | None:
    return None if text is None else redactor.redact(text)
