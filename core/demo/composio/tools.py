"""The tools that the Composio stand-in lists: their names, descriptions and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RemoteTool:
    """One listed tool; `schema` is the JSON Schema of its arguments."""

    slug: str
    title: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False


def _object(required: tuple[str, ...], **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {**properties, "session_id": SESSION_ID},
        "required": list(required),
    }


def _arguments(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _text(description: str) -> Mapping[str, Any]:
    return {"type": "string", "description": description}


SESSION_ID = _text("The workflow's session id, as an earlier answer gave it.")
TOOLKITS: Mapping[str, Any] = {
    "type": "array",
    "items": {"type": "string"},
    "description": "Slugs of toolkits, such as gmail.",
}

REMOTE_TOOLS: tuple[RemoteTool, ...] = (
    RemoteTool(
        "COMPOSIO_SEARCH_TOOLS",
        "Search tools",
        "Find the tools for one or more use cases and see whether their accounts are connected.",
        _object(
            ("queries",),
            queries={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"use_case": {"type": "string"}},
                    "required": ["use_case"],
                },
            },
        ),
        read_only=True,
    ),
    RemoteTool(
        "COMPOSIO_GET_TOOL_SCHEMAS",
        "Get tool schemas",
        "Get the arguments of tools by their slugs.",
        _object(("tool_slugs",), tool_slugs={"type": "array", "items": {"type": "string"}}),
        read_only=True,
    ),
    RemoteTool(
        "COMPOSIO_MULTI_EXECUTE_TOOL",
        "Execute tools",
        "Execute up to 50 tools by their slugs: COMPOSIO_SEARCH_NEWS, COMPOSIO_SEARCH_WEB, GMAIL_SEND_EMAIL.",
        _object(
            ("tools",),
            tools={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"tool_slug": {"type": "string"}, "arguments": {"type": "object"}},
                    "required": ["tool_slug", "arguments"],
                },
            },
            thought=_text("Why these tools are executed."),
            sync_response_to_workbench={"type": "boolean"},
        ),
    ),
    RemoteTool(
        "COMPOSIO_REMOTE_WORKBENCH",
        "Remote workbench",
        "Run Python in a remote sandbox whose files live under /mnt/files.",
        _object(
            ("code_to_execute",),
            code_to_execute=_text("Python code."),
            thought=_text("What the code is for."),
        ),
    ),
    RemoteTool(
        "COMPOSIO_REMOTE_BASH_TOOL",
        "Remote shell",
        "Run a shell command in the remote sandbox.",
        _object(("command",), command=_text("The command line.")),
    ),
    RemoteTool(
        "COMPOSIO_MANAGE_CONNECTIONS",
        "Manage connections",
        "Connect accounts of toolkits; gives a link for each that a person has to open.",
        _object(("toolkits",), toolkits=TOOLKITS),
    ),
    RemoteTool(
        "COMPOSIO_WAIT_FOR_CONNECTIONS",
        "Wait for connections",
        "Wait until a person has completed the connections of these toolkits.",
        _object(("toolkits",), toolkits=TOOLKITS),
        read_only=True,
    ),
    RemoteTool(
        "trim_video",
        "Trim a video",
        "Cut a part out of a video and write it as a new MP4 file into the session's downloads folder.",
        _object(
            ("video_path", "output_path"),
            video_path=_text("Address or path of the video."),
            output_path=_text("Absolute path of the new .mp4 file, inside the session's downloads folder."),
            start_time=_text("Where the part begins, HH:MM:SS."),
            end_time=_text("Where it ends, HH:MM:SS."),
        ),
    ),
)

EXECUTED_TOOLS: Mapping[str, Mapping[str, Any]] = {
    "COMPOSIO_SEARCH_NEWS": _arguments(query=_text("What to search for.")),
    "COMPOSIO_SEARCH_WEB": _arguments(query=_text("What to search for.")),
    "GMAIL_SEND_EMAIL": _arguments(
        recipient_email=_text("Who gets it."), subject=_text("The subject."), body=_text("The text.")
    ),
}
"""The JSON Schemas of the arguments of tools that are executed by their slugs."""
