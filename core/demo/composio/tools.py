"""The tools that the Composio stand-in lists: their names, descriptions and arguments, from `tools.json`."""

from __future__ import annotations

import msgspec

from ua_tui.core.json_values import JsonObject, table_of


class RemoteTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One listed tool; `schema` is the JSON Schema of its arguments."""

    slug: str
    title: str
    description: str
    schema: JsonObject
    read_only: bool = False


REMOTE_TOOLS = table_of(__file__, "tools.json", tuple[RemoteTool, ...])
