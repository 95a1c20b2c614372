"""The tools that the Composio stand-in lists: their names, descriptions and arguments, from `tools.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


class RemoteTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One listed tool; `schema` is the JSON Schema of its arguments."""

    slug: str
    title: str
    description: str
    schema: dict[str, Any]
    read_only: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    listed: tuple[RemoteTool, ...]
    executed: dict[str, dict[str, Any]]


_FILE = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_File)
REMOTE_TOOLS = _FILE.listed
EXECUTED_TOOLS = _FILE.executed
"""The JSON Schemas of the arguments of tools that are executed by their slugs."""
