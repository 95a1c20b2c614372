"""The interface for packages with observers or handlers; its names are stable across versions.

`docs/observers.md` and `docs/pipelines.md` describe how such a package is written and installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ua_tui.core.errors import ObserverError
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.pipelines import AfterTool, BeforeTool, Pipelines
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.storage.workspace import FOLDERS
from ua_tui.core.text import clean_line
from ua_tui.observers.base import (
    Interest,
    Observer,
    ObserverContext,
    Outcome,
    Saved,
    already_saved,
    input_text,
    moment_of,
    texts_of,
)
from ua_tui.observers.output.saving import save_once

__all__ = [
    "AfterTool",
    "BeforeTool",
    "Interest",
    "Observer",
    "ObserverContext",
    "ObserverError",
    "Outcome",
    "Pipelines",
    "Saved",
    "ToolCall",
    "ToolResult",
    "input_text",
    "keep_json",
    "moment_of",
    "texts_of",
]

_TAKEN = {folder.partition("/")[0] for folder in FOLDERS} | {"tool_results", "uploads"}


def keep_json(
    result: ToolResult,
    context: ObserverContext,
    value: Mapping[str, Any],
    *,
    kind: str,
    items: int = 0,
    note: str | None = None,
) -> Outcome:
    """Save `value` as JSON in the session's folder `kind`, unless the session already has the same content.

    The file says beside `value` which tool gave it and when: `tool`, `tool_use_id`, `timestamp`. Returns the
    outcome for `observe` to return: one artifact, or one duplicate and the path of the earlier file as its note.

    Raises:
        ObserverError: `kind` is no name for a folder of one's own: small letters, digits, `_`, `-` and `.`.
        WorkspaceError: the file cannot be written.
    """
    if kind in _TAKEN or safe_name(kind) != kind:
        raise ObserverError(
            f"'{clean_line(kind, 60)}' is not a valid kind: use lower-case letters, digits and _, "
            f"and none of {', '.join(sorted(_TAKEN))}"
        )
    call = result.call
    artifact = {
        "tool": call.name,
        "tool_use_id": call.tool_use_id,
        "timestamp": moment_of(result, context).isoformat(),
        **value,
    }
    saved, path = save_once(result, context, artifact, value, folder=kind, stem=kind, kind=kind)
    if saved is None:
        return already_saved(path)
    return Outcome((saved,), items=items, note=note)
