"""Holds saved artifacts against the schemas of their formats."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # comes with mcp, without types

from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.output.saving import artifact_schemas

FOLDERS = {
    "search_results": "search_results", "extracted_articles": "article",
    "workbench_activity": "workbench_activity", "uploads": "upload",
}  # fmt: skip


def problems_in(workspace: Workspace) -> list[str]:
    """What in the artifacts of a session does not follow their schema, fields that are not in it included."""
    problems = []
    for folder, kind in FOLDERS.items():
        if not workspace.exists(folder):
            continue
        for entry in workspace.list(folder):
            if not entry.is_dir and ".json" in entry.name:
                value = json.loads(workspace.read_artifact(f"{folder}/{entry.name}"))
                for error in _validator(kind).iter_errors(value):
                    problems.append(f"{entry.name}: {error.json_path}: {error.message[:300]}")
    return problems


@cache
def _validator(kind: str) -> Any:
    schema = closed(artifact_schemas()[kind])
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())


def closed(schema: Any) -> Any:
    """The schema with no room for fields that it does not name."""
    match schema:
        case dict():
            return {key: key != "additionalProperties" and closed(value) for key, value in schema.items()}
        case list():
            return [closed(item) for item in schema]
        case _:
            return schema
