"""The tools that the Composio stand-in lists: their names, descriptions and arguments, from `tools.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ua_tui.core.json_values import JsonObject


class RemoteTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One listed tool; `schema` is the JSON Schema of its arguments."""

    slug: str
    title: str
    description: str
    schema: JsonObject
    read_only: bool = False


REMOTE_TOOLS = msgspec.json.decode(
    Path(__file__).with_suffix(".json").read_bytes(), type=tuple[RemoteTool, ...]
)
