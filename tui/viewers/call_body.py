"""A tool call as a document: what it was given, what it gave back, and what is to be known of that."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

import msgspec
from textual.content import Span

from core.events import ToolCallFinished, ToolCallStarted
from core.observation import (
    ImageContent,
    McpObservation,
    NativeObservation,
    Observation,
    SubagentObservation,
    TextContent,
    WorkbenchObservation,
)
from core.text import clean
from tui.format import size
from tui.viewers.code import style_code
from tui.viewers.document import Body, JoinedBody
from tui.viewers.images import image_facts
from tui.viewers.json_text import json_body
from tui.viewers.markdown_body import RENDERED_CHARACTERS, MarkdownBody
from tui.viewers.text_body import LineStyler, TextBody

__all__ = ["arguments_text", "call_body", "call_text", "notes_of", "result_text"]

_INDENT = 2
_LONGEST = 4 * 1024 * 1024
_IMAGE_HEAD = 4096


def call_body(started: ToolCallStarted, finished: ToolCallFinished | None) -> Body:
    """Everything about a call, one section below the other. May take long for large results."""
    bodies: list[Body] = []
    observation = finished.observation if finished is not None else None
    for note in notes_of(observation):
        bodies.append(_text(note, role="warn"))
    if bodies:
        bodies.append(_gap())
    if observation is not None and observation.error is not None:
        bodies += [_heading("Error"), _text(observation.error, role="bad"), _gap()]
    bodies += [_heading("Arguments"), *_arguments(started.input), _gap(), _heading("Result")]
    if finished is None:
        bodies.append(_text("The call is still running.", role="dim"))
    elif observation is None:
        bodies.append(_text(_without_result(finished.status), role="dim"))
    else:
        bodies += _result(observation)
    return JoinedBody(tuple(bodies))


def notes_of(observation: Observation | None) -> list[str]:
    """What a reader must know to trust a result: that it was cut, and whether the whole was recovered."""
    if observation is None or not observation.truncated:
        return []
    if observation.recovered:
        return ["The agent was shown a shortened result; the whole of it is shown here."]
    return ["The result was shortened on its way, and the rest of it is lost."]


def arguments_text(started: ToolCallStarted) -> str:
    """The arguments as JSON."""
    return _encode(started.input)


def result_text(finished: ToolCallFinished | None) -> str:
    """The text of a result, the error first; empty while there is none."""
    if finished is None or finished.observation is None:
        return ""
    blocks = finished.observation.to_llm_content
    return "\n".join(clean(block.text) for block in blocks if isinstance(block, TextContent))


def call_text(started: ToolCallStarted, finished: ToolCallFinished | None) -> str:
    """Arguments and result as one clean text, for a pager."""
    arguments = msgspec.json.format(arguments_text(started), indent=_INDENT) if started.input else "none"
    parts = [started.name, "", "Arguments", arguments, "", "Result"]
    if finished is None:
        parts.append("The call is still running.")
    else:
        parts += notes_of(finished.observation)
        parts.append(result_text(finished) or _without_result(finished.status))
    return clean("\n".join(parts)) + "\n"


def _without_result(status: str) -> str:
    match status:
        case "denied":
            return "The call was denied, so there is no result."
        case "cancelled":
            return "The call was cancelled before it gave a result."
        case _:
            return "The call gave no result."


def _arguments(arguments: dict[str, Any]) -> Iterator[Body]:
    if not arguments:
        yield _text("none", role="dim")
        return
    # JSON would write the line breaks of code and texts as \n, which nobody can read.
    long = {
        key: value for key, value in arguments.items() if isinstance(value, str) and "\n" in value.strip()
    }
    short = {key: value for key, value in arguments.items() if key not in long}
    if short:
        yield _json_or_text(_encode(short))
    for key, value in long.items():
        yield _text(f"{key}:", role="key")
        text = clean(value).expandtabs(4).strip("\n")
        language = "python" if "code" in key.lower() else ""
        yield TextBody(text, style=style_code(text, language) if language else None, indent=_INDENT * 2)


def _result(observation: Observation) -> Iterator[Body]:
    told = False
    match observation:
        case WorkbenchObservation(stdout=stdout, stderr=stderr) if stdout.strip() or stderr.strip():
            for name, text, role in (("stdout", stdout, ""), ("stderr", stderr, "warn")):
                if text.strip():
                    yield _text(f"{name}:", role="key")
                    yield _text(text.strip("\n"), role=role, indent=_INDENT * 2)
            yield _gap()
        case _:
            pass
    pictures = 0
    for block in observation.content:
        if isinstance(block, ImageContent):
            pictures += 1
            yield _text(f"Picture {pictures}: {_picture(block)}")
            told = True
        elif block.text.strip() and block.text != observation.error:
            yield _block(block.text, markdown=isinstance(observation, SubagentObservation))
            told = True
    structured = (
        observation.structured if isinstance(observation, McpObservation | NativeObservation) else None
    )
    if not told and structured is not None:
        yield _json_or_text(_encode(structured))
    elif not told:
        yield _text("Empty.", role="dim")


def _block(text: str, *, markdown: bool) -> Body:
    if text.lstrip()[:1] in {"{", "["}:
        return _json_or_text(text)
    if markdown and len(text) <= RENDERED_CHARACTERS:
        return MarkdownBody(clean(text))
    return _text(text)


def _json_or_text(text: str) -> Body:
    if len(text) <= _LONGEST:
        try:
            body = json_body(text.strip())
        except (ValueError, RecursionError):
            pass
        else:
            body.indent = _INDENT
            return body
    return _text(text)


def _encode(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, default=str)
    except (ValueError, TypeError, RecursionError):
        return f"({type(value).__name__} that cannot be written as JSON)"


def _picture(block: ImageContent) -> str:
    total = size(len(block.data) * 3 // 4)
    try:
        facts = image_facts(base64.b64decode(block.data[:_IMAGE_HEAD], validate=False))
    except (binascii.Error, ValueError):
        facts = None
    if facts is None:
        return f"{clean(block.mime_type)}, {total}"
    kind, width, height = facts
    return f"{kind}, {width:,} × {height:,} pixels, {total}" if width else f"{kind}, {total}"


def _heading(text: str) -> TextBody:
    return TextBody(text, style=_styler("heading"))


def _text(text: str, *, role: str = "", indent: int = _INDENT) -> TextBody:
    kept = clean(text[:_LONGEST]).expandtabs(4)
    if len(text) > _LONGEST:
        kept += f"\n… {len(text) - _LONGEST:,} more characters"
    return TextBody(kept, style=_styler(role) if role else None, indent=indent)


def _gap() -> TextBody:
    return TextBody("")


def _styler(role: str) -> LineStyler:
    def style(number: int, line: str) -> list[Span]:
        return [Span(0, len(line), role)]

    return style
