"""The result of a tool: one type for every tool, and typed subclasses that only add fields."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

import msgspec

from ua_tui.core.json_values import JsonObject


class TextContent(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """A block of text in a tool result, exactly as the tool returned it (not cleaned)."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    """A picture in a tool result: base64 `data` and its MIME type."""

    data: str
    mime_type: str = "image/png"


ContentBlock = TextContent | ImageContent


class ReturnedFile(msgspec.Struct, frozen=True):
    """A file that a tool returned in its result, as it is stored in the workspace.

    `is_new` is false if the workspace had a file with this content.
    """

    path: str
    is_new: bool = True


class Observation(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="tool"):
    """The result of one tool call.

    `content` is the complete output of the tool, in order, and `output` its text: the text blocks joined by line
    breaks. Either may be given; if `content` has text, `output` is made from it. `error` is None unless it failed;
    output before the failure stays in `content`. `held` is why there is no answer although nothing failed: the tool's
    service waits for a person, or one of its hooks blocked the call; `error` then says for what, or the reason.
    `truncated` is whether the agent saw less than the tool returned, `recovered` whether `content` is complete
    nevertheless. `stored_at` is the path in the workspace of a result too large for an event. `files` are the pictures,
    sounds and other files that an MCP server returned.
    """

    tool_name: str
    tool_use_id: str
    output: str = ""
    content: tuple[ContentBlock, ...] = ()
    error: str | None = None
    held: Literal["waiting", "blocked"] | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_ms: float | None = None
    truncated: bool = False
    recovered: bool = False
    stored_at: str | None = None
    files: tuple[ReturnedFile, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The texts among its blocks."""
        return [block.text for block in self.content if isinstance(block, TextContent)]

    def __post_init__(self) -> None:
        if texts := self.texts:
            msgspec.structs.force_setattr(self, "output", "\n".join(texts))
        elif self.output:
            msgspec.structs.force_setattr(self, "content", (TextContent(self.output), *self.content))

    def without_output(self) -> Self:
        """Return a copy that is written without `output`, which follows from `content`."""
        copied = copy.copy(self)
        msgspec.structs.force_setattr(copied, "output", msgspec.UNSET)
        return copied

    @property
    def text(self) -> str:
        """The error, if there is one, and the output below it."""
        return "\n".join(dict.fromkeys(part for part in (self.error, self.output) if part))

    @property
    def images(self) -> tuple[ImageContent, ...]:
        """The pictures among the content blocks."""
        return tuple(block for block in self.content if isinstance(block, ImageContent))

    @property
    def has_error(self) -> bool:
        """Whether there is no answer: the call failed, waits or was blocked."""
        return self.error is not None

    @property
    def size(self) -> int:
        """The size of the content in bytes: UTF-8 for text, base64 for pictures."""
        return sum(
            len(block.text.encode("utf-8", "replace")) if isinstance(block, TextContent) else len(block.data)
            for block in self.content
        )

    @property
    def to_llm_content(self) -> Sequence[ContentBlock]:
        """What a model should read: the error or why there is no answer, then all output before the failure."""
        if self.error is None:
            return self.content
        first = self.error if self.held else f"Error: {self.error}"
        partial = tuple(b for b in self.content if not (isinstance(b, TextContent) and b.text == self.error))
        return (TextContent(first), *partial)


class McpObservation(Observation, frozen=True, kw_only=True, tag="mcp"):
    """A result of a tool of an MCP server."""

    server: str


class NativeObservation(Observation, frozen=True, kw_only=True, tag="native"):
    """A result of one of the agent's own built-in tools."""


class FileWriteObservation(McpObservation, frozen=True, kw_only=True, tag="file_write"):
    """A file was written; `path` as the tool names it."""

    path: str


class SearchObservation(McpObservation, frozen=True, kw_only=True, tag="search"):
    """A search was run; `query` is its query, if the input has one."""

    query: str | None = None


class WorkbenchObservation(McpObservation, frozen=True, kw_only=True, tag="workbench"):
    """Code ran in the remote sandbox; `successful` according to the service, None if it does not say."""

    successful: bool | None = None
    stdout: str = ""
    stderr: str = ""


class CrawlObservation(McpObservation, frozen=True, kw_only=True, tag="crawl"):
    """Pages were fetched and extracted; `known` of them were taken from the knowledge base instead.

    `unread` names the first sites whose pages failed, each with the reason.
    """

    pages: int = 0
    failed: int = 0
    known: int = 0
    unread: str = ""


class KnowledgeObservation(McpObservation, frozen=True, kw_only=True, tag="knowledge"):
    """The knowledge base was asked: `hits` is how many documents it named, `title` that of the one it was read from."""

    hits: int = 0
    title: str = ""


class SubagentObservation(NativeObservation, frozen=True, kw_only=True, tag="subagent"):
    """A sub-agent returned its answer."""

    agent: str
    description: str = ""


AnyObservation = (
    Observation
    | McpObservation
    | NativeObservation
    | FileWriteObservation
    | SearchObservation
    | WorkbenchObservation
    | CrawlObservation
    | KnowledgeObservation
    | SubagentObservation
)


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of the model, with the input that was actually used."""

    tool_use_id: str
    name: str
    input: JsonObject = {}
    query_id: str = ""
    query: str = ""
    parent_tool_use_id: str | None = None


class FinishedCall(ToolCall, frozen=True, kw_only=True):
    """A tool call of a query that ended; `result` is None if the call got none."""

    result: AnyObservation | None = None


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """A finished tool call, as observers receive it."""

    call: ToolCall
    observation: AnyObservation
