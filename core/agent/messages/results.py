"""One adapter from whatever the agent's SDK delivers to an `Observation`.

A result arrives in up to four forms: the content block for the model, the message's `tool_use_result`, the response
for a `PostToolUse` hook, and a file that the command-line agent wrote when the result was too large. Only the model's
block is truncated; then the others are tried.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from ua_tui.core.agent.bounds import LARGEST_FILE
from ua_tui.core.agent.mcp.error_messages import describe_call_error
from ua_tui.core.agent.permissions.actions import server_of
from ua_tui.core.agent.permissions.arguments import Arguments
from ua_tui.core.events.codec import from_json, to_json
from ua_tui.core.events.types import READ_RESOURCE
from ua_tui.core.json_values import JsonMapping, JsonObject, list_in, object_in, objects_in, text_in, value_in
from ua_tui.core.log import log
from ua_tui.core.observation import (
    AnyObservation,
    ContentBlock,
    CrawlObservation,
    FileWriteObservation,
    ImageContent,
    KnowledgeObservation,
    McpObservation,
    NativeObservation,
    ReturnedFile,
    SearchObservation,
    SubagentObservation,
    TextContent,
    WorkbenchObservation,
)
from ua_tui.core.storage.regular_file import read_regular
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader import host_of

Held = Literal["waiting", "blocked"]


_CUT = re.compile(
    r"\A<persisted-output>|\AError: result \([\d,]+ characters\) exceeds maximum allowed tokens|"
    r"Output has been saved to |Full output saved to: "
)
_SAVED_TO = re.compile(
    r"(?:Full output saved to: |Output has been saved to |(?P<part>only the first \S+ were saved to: ))"
    r"(?P<path>/[^\n]+?)(?:\.?\s*$|\.?\n)",
    re.M,
)
_MOST_UNREAD = 4
_ABOUT_RESULTS = frozenset({"_meta", "resourceLinks"})
# A notice has a preview of 2,000 characters.
LONGEST_NOTICE = 16 << 10
# A text with one character that takes four bytes in UTF-8 takes four bytes of memory for each of its characters.
_SHORT_CHARACTERS = bytes(range(0xF0))


class RawResult(msgspec.Struct, frozen=True):
    """The forms of one result: the model's block, the message's own copy and the hook's; and the files in it.

    `tool_use_id` is its call, which is still open when it comes in a message.
    `transcript` is the path of the conversation's transcript: a saved result is read only from the folder beside it.
    """

    block: Any = None
    is_error: bool = False
    message_copy: Any = None
    hook_copy: Any = None
    hook_error: str | None = None
    files: Sequence[Any] = ()
    transcript: str = ""
    tool_use_id: str = ""


class ResultAdapter(msgspec.Struct, frozen=True):
    """Makes observations; reads saved results of up to `largest` bytes, only from inside `saved_results_root`."""

    saved_results_root: Path
    largest: int = LARGEST_FILE

    def observe(
        self,
        *,
        tool_name: str,
        tool_use_id: str,
        tool_input: Arguments,
        raw: RawResult,
        started_at: datetime | None = None,
        ended_at: datetime | None = None,
        duration_ms: float | None = None,
    ) -> AnyObservation:
        """Make the observation of one call; never raises for unknown content, which is kept as text."""
        shown = _blocks(raw.block)
        shown_text = _text(shown)
        truncated = _is_notice(shown_text)
        content, recovered = shown, False
        if truncated:
            whole = self._whole(raw, shown_text)
            if whole is not None:
                left_out = _left_out(raw, shown_text)
                content, recovered = (*whole, *left_out), not left_out
        elif not shown and raw.hook_copy is not None:
            content = _blocks(_mcp_copy(raw.hook_copy))
        content = tuple(_unwrap(block) for block in content)
        over_limit = truncated and shown_text.lstrip().startswith("Error: result (")
        failed = (raw.is_error or raw.hook_error is not None) and not over_limit
        error: str | None = None
        held: Held | None = None
        if failed:
            text = shown_text.strip()
            for wrapper in ("<tool_use_error>", "</tool_use_error>"):
                text = text.replace(wrapper, "")
            error = (
                text.removeprefix("Error: ").strip() or raw.hook_error or "The tool failed without a message."
            )
            if tool_name.startswith("mcp__"):
                error = describe_call_error(error, server_of(tool_name))
        elif tool_name.startswith("mcp__"):
            held, error = _reported(content)
        elif tool_name == READ_RESOURCE:
            # One that does not exist is no error to the agent.
            error = str(value_in(raw.message_copy, "error") or "") or None
        common: JsonObject = {
            "tool_name": tool_name,
            "tool_use_id": tool_use_id,
            "content": content,
            "error": error,
            "held": held,
            "started_at": started_at,
            "ended_at": ended_at,
            "duration_ms": duration_ms,
            "truncated": truncated,
            "recovered": recovered,
            "files": msgspec.convert(raw.files, tuple[ReturnedFile, ...]),
        }
        return _typed(tool_name, tool_input, raw, common)

    def _whole(self, raw: RawResult, shown_text: str) -> tuple[ContentBlock, ...] | None:
        for copy in (raw.message_copy, raw.hook_copy):
            # A command's has only the beginning, and its file all of it; a sub-agent's has no content.
            if isinstance(copy, Mapping) and ("persistedOutputPath" in copy or copy.keys() <= _ABOUT_RESULTS):
                continue
            blocks = _blocks(_mcp_copy(copy))
            text = _text(blocks)
            if text and not _CUT.search(text[:4096]):
                return blocks
        # The model's text may name a file of the workspace instead.
        path = _saved_path(shown_text) or replaced_path(raw.hook_copy)
        return None if path is None else self.read_saved(path, raw.transcript)

    def remove_saved(self, raw: RawResult) -> None:
        """Remove the file that the command line saved the result of a server to, if the model was given another one."""
        path = replaced_path(raw.hook_copy)
        if path is not None and _saved_path(_text(_blocks(raw.block))) != path:
            with suppress(OSError):
                if self._resolved(path, raw.transcript) is not None:
                    path.unlink()

    def read_saved(self, path: Path, transcript: str) -> tuple[ContentBlock, ...] | None:
        """The content that the command line saved to a file of this conversation; None if it cannot be read."""
        try:
            if (resolved := self._resolved(path, transcript)) is None:
                return None
            saved = read_regular(resolved, self.largest)
        except OSError as error:
            log.warning("a saved tool result could not be read: %s", error)
            return None
        if len(saved) > self.largest // 2 and saved.translate(None, _SHORT_CHARACTERS):
            log.warning("a saved tool result takes too much memory and was not read")
            return None
        decoded = list_in(from_json(saved)) if saved[:100].lstrip().startswith(b"[") else []
        if decoded and all("type" in object_in(each) for each in decoded):
            return _blocks(decoded)
        return (TextContent(saved.decode("utf-8", "replace")),)

    def _resolved(self, path: Path, transcript: str) -> Path | None:
        """The file among the saved results of this conversation; None if it is not one of them.

        Raises:
            OSError: it cannot be found.
        """
        folder = results_folder(transcript)
        if folder is None:
            return None
        resolved, folder = path.resolve(strict=True), folder.resolve()
        if resolved.parent == folder and folder.is_relative_to(self.saved_results_root.resolve()):
            return resolved
        log.warning("a saved tool result is not in the folder of this conversation and was not read")
        return None


def results_folder(transcript: str) -> Path | None:
    """Where the command line stores the results of the conversation that has this transcript."""
    return Path(transcript).with_suffix("") / "tool-results" if transcript.endswith(".jsonl") else None


def _saved_path(text: str) -> Path | None:
    """The file of the command line that a notice says a result was saved to."""
    if len(text) > LONGEST_NOTICE:
        return None
    found = _SAVED_TO.search(text)
    return None if found is None else Path(found["path"].strip().rstrip("."))


def replaced_path(response: Any) -> Path | None:
    """The file with a server's result for which the command line gives even the hooks a notice; else None."""
    is_notice = isinstance(response, str) and response.startswith("Error: result (")
    return _saved_path(response) if is_notice else None


def is_cut_off(raw: RawResult) -> bool:
    """Whether the model's block only says that the result was too large, and where it is."""
    texts = [block.text for block in _blocks(raw.block)[:4] if isinstance(block, TextContent)]
    return any(_is_notice(text) for text in texts)


def _left_out(raw: RawResult, shown_text: str) -> tuple[ContentBlock, ...]:
    """A notice of what is missing, if the agent saved only the beginning of an output."""
    saved = _SAVED_TO.search(shown_text)
    if saved is None or saved["part"] is None:
        return ()
    size = value_in(raw.message_copy, "persistedOutputSize")
    whole = f" of {size:,} bytes" if isinstance(size, int) else ""
    return (
        TextContent(
            f"[… the rest{whole} is left out: the agent saved {saved['part'].partition(' were')[0]} …]"
        ),
    )


def _is_notice(text: str) -> bool:
    return bool(_CUT.search(text[:4096]) or _CUT.search(text[-1024:]))


def _mcp_copy(copy: Any) -> Any:
    """Take the content out of the SDK's own copy of an MCP result, structured content first."""
    if isinstance(copy, Mapping):
        structured = copy.get("structuredContent")
        if structured is not None:
            return msgspec.json.encode(structured).decode()
        if "content" in copy:
            return copy["content"]
    return copy


def _blocks(content: Any) -> tuple[ContentBlock, ...]:
    match content:
        case None | "":
            return ()
        case str():
            return (TextContent(content),)
        case list() | tuple():
            return tuple(block for item in content for block in _block(item))
        case Mapping() if "type" in content and ("text" in content or "source" in content):
            return tuple(_block(content))
        case _:
            return (TextContent(to_json(content, repr(content))),)


def _block(item: Any) -> list[ContentBlock]:
    match item:
        case str():
            return [TextContent(item)]
        case {"type": "text", "text": str(text)}:
            return [TextContent(text)]
        case {"type": "image", "source": {"data": str(data), **rest}}:
            return [ImageContent(data, str(rest.get("media_type") or "image/png"))]
        case {"type": "image", "data": str(data), **rest}:
            return [ImageContent(data, str(rest.get("mimeType") or "image/png"))]
        case {"type": "resource", "resource": {"text": str(text)}}:
            return [TextContent(text)]
        case {"type": "tool_reference"}:
            return []
        case _:
            return [TextContent(to_json(item, repr(item)))]


def texts_in(content: Any) -> list[str]:
    """The texts of a result's content, in any form, without the wrapper that a server may put around a text."""
    return [
        block.text for block in map(_unwrap, _blocks(_mcp_copy(content))) if isinstance(block, TextContent)
    ]


def _text(blocks: tuple[ContentBlock, ...]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextContent))


def _unwrap(block: ContentBlock) -> ContentBlock:
    """Undo the `{"result": "..."}` an MCP server wraps around a plain string."""
    if not isinstance(block, TextContent) or not block.text.lstrip().startswith('{"result"'):
        return block
    match from_json(block.text):
        case {"result": str(text), **rest} if not rest:
            return TextContent(text)
    return block


def _reported(content: tuple[ContentBlock, ...]) -> tuple[Held | None, str | None]:
    """What a result of Composio reports although its status is good: that the call is held, why, or its error."""
    text = _text(content)
    is_held = '"input_required"' in text or '"blocked"' in text
    if not is_held and ('"successful"' not in text or "false" not in text):
        return None, None
    value = object_in(from_json(text))
    match value.get("result_type"):
        case "input_required":
            requests = objects_in([*object_in(value, "input_requests").values()])
            texts = [f"waiting for {_kind(each)}: {each.get('message')}" for each in requests]
            return "waiting", "\n".join(texts) or "waiting for an answer"
        case "blocked":
            return "blocked", _block_reason(value)
    if value.get("successful") is not False:
        return None, None
    error = value.get("error") or value_in(value, "data", "error")
    return None, str(error) if error else "the tool reports that it did not succeed"


def _kind(request: JsonMapping) -> str:
    """An approval is a form with one decision."""
    match request.get("requested_schema"):
        case {"properties": {"decision": {"enum": [*choices]}}} if "approve" in choices:
            return "approval"
    return "an answer"


def _block_reason(value: JsonMapping) -> str:
    ran = value_in(value.get("block_reason") or value.get("reason"), "type") == "response_blocked"
    text = str(value.get("message") or value.get("error") or "a hook of the service blocked it")
    return f"{text} The tool ran; its result was withheld." if ran else text


def _typed(tool_name: str, tool_input: Arguments, raw: RawResult, common: JsonObject) -> AnyObservation:
    if tool_name in {"Agent", "Task"}:
        return SubagentObservation(
            **common,
            agent=str(tool_input.get("subagent_type") or "general-purpose"),
            description=str(tool_input.get("description") or ""),
        )
    if not tool_name.startswith("mcp__"):
        return NativeObservation(**common)
    _, server, tool = [*tool_name.split("__", 2), "", ""][:3]
    common["server"] = server
    upper = tool.upper()
    if tool == "write_local_file":
        return FileWriteObservation(
            **common, path=str(tool_input.get("path") or tool_input.get("file_path") or "")
        )
    if tool == "crawl_parallel":
        return _crawl(common)
    if server == "local_toolkit" and tool.startswith("knowledge_"):
        value = from_json(_text(common["content"]))
        return KnowledgeObservation(**common, hits=len(list_in(value, "hits")), title=text_in(value, "title"))
    if "REMOTE_WORKBENCH" in upper or "REMOTE_BASH" in upper:
        return _workbench(common)
    if "SEARCH" in upper and not upper.endswith("SEARCH_TOOLS"):
        given = map(tool_input.get, ("query", "q", "search"))
        asked = next((each for each in given if isinstance(each, str)), None)
        return SearchObservation(**common, query=asked)
    return McpObservation(**common)


def _crawl(common: JsonObject) -> CrawlObservation:
    value = from_json(_text(common["content"]))
    articles, failed = list_in(value, "articles"), list_in(value, "failed")
    return CrawlObservation(
        **common,
        pages=len(articles),
        failed=len(failed),
        known=sum(value_in(each, "from_knowledge") is True for each in articles),
        unread=_unread(failed),
    )


def _unread(failed: Sequence[Any]) -> str:
    """The hosts of pages that failed, each with a short reason."""
    found: dict[str, None] = {}
    for each in failed:
        match each:
            case {"url": str(url), "code": str(code)}:
                why = text_in(each, "reason") if not code.startswith("http_") else ""
                why = why or code
                why = why.removeprefix("http_").replace("_", " ")
                found[clean_line(f"{host_of(url) or 'no address'} {why}", 80)] = None
    shown = [*found][:_MOST_UNREAD]
    return ", ".join([*shown, *(["…"] if len(found) > len(shown) else [])])


def _workbench(common: JsonObject) -> WorkbenchObservation:
    value = object_in(from_json(_text(common["content"])))
    data = object_in(value, "data") or value
    successful = value.get("successful")
    return WorkbenchObservation(
        **common,
        successful=successful if isinstance(successful, bool) else None,
        stdout=str(data.get("stdout") or ""),
        stderr=str(data.get("stderr") or ""),
    )
