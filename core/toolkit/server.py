"""Chooses the tools of a session; each is a function of another module."""

from __future__ import annotations

from typing import Any

from ua_tui.core.connections.toolkit import SERVER
from ua_tui.core.toolkit.context import ToolContext
from ua_tui.core.toolkit.corpus import save_corpus
from ua_tui.core.toolkit.crawl import crawl_parallel
from ua_tui.core.toolkit.files import list_directory, read_local_file, write_local_file
from ua_tui.core.toolkit.knowledge.knowledge_tools import knowledge_read, knowledge_search, knowledge_sources
from ua_tui.core.toolkit.mcp_server import Tool, ToolServer
from ua_tui.core.toolkit.workbench import workbench_download, workbench_upload

INSTRUCTIONS = "Reads web pages in parallel and keeps files in the workspace of the session."
# Without this the agent's command line cuts results of more than 50,000 characters.
LARGE_RESULT = {"anthropic/maxResultSizeChars": 500_000}


def build_server(context: ToolContext) -> ToolServer:
    """Build the server with the tools for one workspace and, where given, the knowledge base and the sandbox."""
    tools = [
        Tool(crawl_parallel, _writes("Read web pages", open_world=True), LARGE_RESULT),
        Tool(save_corpus, _writes("Save the corpus"), LARGE_RESULT),
        Tool(write_local_file, _writes("Write a file", destructive=True)),
        Tool(read_local_file, _reads("Read a file"), LARGE_RESULT),
        Tool(list_directory, _reads("List a folder"), LARGE_RESULT),
    ]
    if context.knowledge is not None:
        tools += [
            Tool(knowledge_search, _reads("Search what earlier sessions found"), LARGE_RESULT),
            Tool(knowledge_read, _reads("Read what an earlier session found"), LARGE_RESULT),
            Tool(knowledge_sources, _reads("Look up a page in earlier sessions"), LARGE_RESULT),
        ]
    if context.open_remote is not None:
        tools += [
            Tool(workbench_download, _writes("Download from the sandbox", idempotent=False, open_world=True)),
            Tool(workbench_upload, _writes("Upload to the sandbox", destructive=True, open_world=True)),
        ]
    return ToolServer(SERVER, "1", INSTRUCTIONS, context, tools)


def _reads(title: str) -> dict[str, Any]:
    """The annotations of a tool that only reads the workspace."""
    return {"title": title, "readOnlyHint": True, "openWorldHint": False}


def _writes(
    title: str, *, destructive: bool = False, idempotent: bool = True, open_world: bool = False
) -> dict[str, Any]:
    """The annotations of a tool that writes: whether it replaces files, is idempotent, or acts outside the machine."""
    return {
        "title": title,
        "readOnlyHint": False,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }
