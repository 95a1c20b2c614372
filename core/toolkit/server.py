"""Registers the tools on an MCP server; the other modules implement them."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from core.errors import UniversalAgentError
from core.text import clean
from core.toolkit import corpus, crawl, files, workbench
from core.toolkit.context import ToolContext

__all__ = ["SERVER_NAME", "build_server"]

SERVER_NAME = "local_toolkit"
INSTRUCTIONS = "Reads web pages in parallel and keeps files in the workspace of the session."
# Without this the agent's command line cuts results of more than 50,000 characters.
LARGE_RESULT = {"anthropic/maxResultSizeChars": 500_000}


async def _answer_of(answer: Awaitable[str]) -> str:
    """Wait for a tool's answer; the model gets the text of our own errors, but not of any others."""
    try:
        return await answer
    except UniversalAgentError as error:
        raise ToolError(clean(str(error))) from error


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


def build_server(context: ToolContext) -> MCPServer[None]:
    """Build the server with the tools for one workspace and, if there is a remote sandbox, for its files."""
    server = MCPServer[None](SERVER_NAME, instructions=INSTRUCTIONS, log_level="WARNING")

    @server.tool(
        annotations=_writes("Read web pages", open_world=True),
        meta=LARGE_RESULT,
        structured_output=False,
    )
    async def crawl_parallel(
        urls: Annotated[list[str], Field(description="http or https addresses, at most 50")],
    ) -> str:
        """Fetch web pages, ten at a time, and save the article of each as a Markdown file in search_results/.

        Returns JSON: articles (title, url, path, words, date), failed (url, error, code), saved. Read an article
        with read_local_file and its path. One page that fails does not affect the others.
        """
        return await _answer_of(crawl.crawl_parallel(context, urls))

    @server.tool(
        annotations=_writes("Save the corpus"),
        meta=LARGE_RESULT,
        structured_output=False,
    )
    async def save_corpus(
        articles: Annotated[
            list[str] | None,
            Field(
                description="URLs that were crawled or paths in the workspace; all crawled articles when left out"
            ),
        ] = None,
    ) -> str:
        """Save extracted articles with their text as expanded_corpus.json. Do this before writing a report.

        Returns JSON: path, size, sha256, count, words, articles, missing.
        """
        return await _answer_of(corpus.save_corpus(context, articles))

    @server.tool(
        annotations=_writes("Write a file", destructive=True),
        structured_output=False,
    )
    async def write_local_file(
        path: Annotated[str, Field(description="path in the workspace, such as work_products/report.html")],
        content: Annotated[str, Field(description="the whole text of the file")],
    ) -> str:
        """Write a text file in the workspace, replacing an earlier one. Returns JSON: path, size, sha256."""
        return await _answer_of(files.write_local_file(context, path, content))

    @server.tool(
        annotations=_reads("Read a file"),
        meta=LARGE_RESULT,
        structured_output=False,
    )
    async def read_local_file(
        path: Annotated[str, Field(description="path in the workspace")],
        offset: Annotated[int, Field(description="first character to read", ge=0)] = 0,
        limit: Annotated[
            int, Field(description="most characters to read", ge=1, le=files.MAX_CHARACTERS)
        ] = files.DEFAULT_CHARACTERS,
    ) -> str:
        """Read a text file of the workspace. Long files come in parts; the last line says how much is left."""
        return await _answer_of(files.read_local_file(context, path, offset, limit))

    @server.tool(
        annotations=_reads("List a folder"),
        meta=LARGE_RESULT,
        structured_output=False,
    )
    async def list_directory(
        path: Annotated[
            str, Field(description="folder in the workspace; empty for the workspace itself")
        ] = "",
    ) -> str:
        """List a folder of the workspace: kind, size in bytes and name of each entry."""
        return await _answer_of(files.list_directory(context, path))

    if context.open_remote is not None:
        _add_workbench(server, context)
    return server


def _add_workbench(server: MCPServer[None], context: ToolContext) -> None:
    @server.tool(
        annotations=_writes("Download from the sandbox", idempotent=False, open_world=True),
        structured_output=False,
    )
    async def workbench_download(
        path: Annotated[
            str, Field(description="file in the remote sandbox, such as /mnt/files/output/chart.png")
        ],
        name: Annotated[
            str | None, Field(description="what it is called in downloads/; its own name when left out")
        ] = None,
        allow_large: Annotated[
            bool, Field(description="also above 5 MB, up to 100 MB; only when the person wants it here")
        ] = False,
    ) -> str:
        """Copy a file of Composio's remote workbench (below /mnt/files) into downloads/ of the workspace.

        Returns JSON: status saved with path, size, sha256; or status left_remote for one above 5 MB.
        """
        return await _answer_of(workbench.workbench_download(context, path, name, allow_large))

    @server.tool(
        annotations=_writes("Upload to the sandbox", destructive=True, open_world=True),
        structured_output=False,
    )
    async def workbench_upload(
        path: Annotated[str, Field(description="file in the workspace")],
        remote_path: Annotated[
            str | None, Field(description="where it goes, below /mnt/files; its own name when left out")
        ] = None,
        allow_large: Annotated[bool, Field(description="also above 5 MB, up to 100 MB")] = False,
    ) -> str:
        """Copy a file of the workspace into Composio's remote workbench, below /mnt/files, replacing one there.

        Returns JSON: status uploaded, remote_path, path, size, sha256.
        """
        return await _answer_of(workbench.workbench_upload(context, path, remote_path, allow_large))
