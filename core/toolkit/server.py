"""Registers the tools on an MCP server.

A tool is a function of another module. Its parameters after the context and its docstring before `Raises:` are what the
model knows of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from ua_tui.core.connections.toolkit import SERVER
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.telemetry.http import CALL_ID
from ua_tui.core.text import clean
from ua_tui.core.toolkit.context import ToolContext
from ua_tui.core.toolkit.corpus import save_corpus
from ua_tui.core.toolkit.crawl import crawl_parallel
from ua_tui.core.toolkit.files import list_directory, read_local_file, write_local_file
from ua_tui.core.toolkit.knowledge.knowledge_tools import knowledge_read, knowledge_search, knowledge_sources
from ua_tui.core.toolkit.workbench import workbench_download, workbench_upload

INSTRUCTIONS = "Reads web pages in parallel and keeps files in the workspace of the session."
# Without this the agent's command line cuts results of more than 50,000 characters.
LARGE_RESULT = {"anthropic/maxResultSizeChars": 500_000}

_Tool = Callable[..., Awaitable[str]]


def build_server(context: ToolContext) -> MCPServer[None]:
    """Build the server with the tools for one workspace and, where given, the knowledge base and the sandbox."""
    server = MCPServer[None](SERVER, instructions=INSTRUCTIONS, log_level="WARNING")

    def add(tool: _Tool, annotations: ToolAnnotations, meta: dict[str, Any] | None = None) -> None:
        server.add_tool(
            _with_context(tool, context),
            description=(inspect.getdoc(tool) or "").partition("\n\nRaises:")[0],
            annotations=annotations,
            meta=meta,
            structured_output=False,
        )

    add(crawl_parallel, _writes("Read web pages", open_world=True), LARGE_RESULT)
    add(save_corpus, _writes("Save the corpus"), LARGE_RESULT)
    add(write_local_file, _writes("Write a file", destructive=True))
    add(read_local_file, _reads("Read a file"), LARGE_RESULT)
    add(list_directory, _reads("List a folder"), LARGE_RESULT)
    if context.knowledge is not None:
        add(knowledge_search, _reads("Search what earlier sessions found"), LARGE_RESULT)
        add(knowledge_read, _reads("Read what an earlier session found"), LARGE_RESULT)
        add(knowledge_sources, _reads("Look up a page in earlier sessions"), LARGE_RESULT)
    if context.open_remote is not None:
        add(workbench_download, _writes("Download from the sandbox", idempotent=False, open_world=True))
        add(workbench_upload, _writes("Upload to the sandbox", destructive=True, open_world=True))
    return server


def _with_context(tool: _Tool, context: ToolContext) -> _Tool:
    """The tool without its first parameter; the model gets the text of our own errors, but not of any others."""

    async def call(request: Context[Any, Any], **arguments: Any) -> str:
        try:
            await context.begin_call(str((request.request_context.meta or {}).get(CALL_ID, "")))
            return await tool(context, **arguments)
        except UniversalAgentError as error:
            raise ToolError(clean(str(error))) from error

    _, *parameters = inspect.signature(tool, eval_str=True).parameters.values()
    vars(call).update(__signature__=inspect.Signature(parameters))
    call.__name__ = tool.__name__
    return call


def _reads(title: str) -> ToolAnnotations:
    """The annotations of a tool that only reads the workspace."""
    return ToolAnnotations(title=title, read_only_hint=True, open_world_hint=False)


def _writes(
    title: str, *, destructive: bool = False, idempotent: bool = True, open_world: bool = False
) -> ToolAnnotations:
    """The annotations of a tool that writes: whether it replaces files, is idempotent, or acts outside the machine."""
    return ToolAnnotations(
        title=title,
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=open_world,
    )
