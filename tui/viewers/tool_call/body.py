"""A tool call as a document: what it was given, what it gave back, and what is to be known of that."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from textual.content import Span

from core.events.types import ToolCallFinished, ToolCallStarted
from core.events.units import quantity, size, tokens
from core.observation import (
    ImageContent,
    McpObservation,
    NativeObservation,
    Observation,
    SubagentObservation,
    TextContent,
    WorkbenchObservation,
)
from core.text import clean, clean_line
from tui.render.subagent_progress import Progress
from tui.viewers.bodies.code import style_code
from tui.viewers.bodies.json_text import json_body
from tui.viewers.bodies.json_tree import Branch, JsonTree
from tui.viewers.bodies.json_values import Level, open_level
from tui.viewers.bodies.markdown import RENDERED_CHARACTERS, MarkdownBody
from tui.viewers.bodies.picture import PictureBody, read_header
from tui.viewers.bodies.text import LineStyler, TextBody
from tui.viewers.document import Body
from tui.viewers.tool_call.sections import Part, Section, SectionsBody

__all__ = [
    "arguments_text",
    "call_body",
    "call_text",
    "is_agent",
    "notes_of",
    "result_text",
]

_INDENT = 2
_LONGEST = 4 * 1024 * 1024
_LARGEST_TREE = 128 * 1024 * 1024
_SHORT_PROMPT = 6
_STEP = 256 * 1024
_PICTURE_STEP = 6
_OPENED_ROWS = 60
_OPENED_ITEMS = 3
_OPENED_BYTES = 256 * 1024


def is_agent(started: ToolCallStarted) -> bool:
    """Whether the call is that of a sub-agent."""
    return started.name in {"Agent", "Task"}


def call_body(
    started: ToolCallStarted,
    finished: ToolCallFinished | None,
    *,
    as_text: bool = False,
    progress: Progress | None = None,
    notes: Sequence[str] = (),
    waiting: str = "",
) -> SectionsBody:
    """Everything about a call, in sections; JSON as trees or, with `as_text`, as it is written.

    `notes` are told above the result, and `waiting` in place of one that is still read from its file. May take
    long for large results: call it in a thread.
    """
    sections: list[Section] = []
    observation = finished.observation if finished is not None else None
    if observation is not None and observation.error is not None:
        sections.append(Section("Error", [Part(_text(observation.error, role="bad"))], role="bad"))
    given = started.input
    if is_agent(started):
        if progress is not None and (progress.tokens or progress.activity):
            sections.append(_activity(progress))
        prompt = given.get("prompt")
        if isinstance(prompt, str) and prompt.strip():
            given = {key: value for key, value in given.items() if key != "prompt"}
            sections.append(_prompt(prompt.strip(), answered=finished is not None))
    sections.append(Section("Arguments", list(_arguments(given, as_text=as_text))))
    told = [Part(_text(note, role="warn")) for note in (*notes_of(observation), *notes)]
    if finished is None:
        parts = [Part(_text("The call is still running.", role="dim"))]
    elif waiting:
        parts = [Part(_text(waiting, role="dim"))]
    elif observation is None:
        parts = [Part(_text(_without_result(finished.status), role="dim"))]
    else:
        parts = _parted(told, list(_result(observation, as_text=as_text)))
    facts = "" if observation is None or waiting else _facts(observation)
    sections.append(Section("Answer" if is_agent(started) else "Result", parts, facts))
    return SectionsBody(sections)


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
    return "\n".join(_cleaned(block.text) for block in blocks if isinstance(block, TextContent))


def call_text(started: ToolCallStarted, finished: ToolCallFinished | None, notes: Sequence[str] = ()) -> str:
    """Arguments and result as one clean text, for a pager; `notes` stand above the result."""
    arguments = msgspec.json.format(arguments_text(started), indent=_INDENT) if started.input else "none"
    parts = [started.name, "", "Arguments", arguments, "", "Result"]
    if finished is None:
        parts.append("The call is still running.")
    else:
        parts += [*notes_of(finished.observation), *notes]
        parts.append(result_text(finished) or _without_result(finished.status))
    return _cleaned("\n".join(parts)) + "\n"


def _without_result(status: str) -> str:
    match status:
        case "denied":
            return "The call was denied, so there is no result."
        case "cancelled":
            return "The call was cancelled before it gave a result."
        case _:
            return "The call gave no result."


def _prompt(prompt: str, *, answered: bool) -> Section:
    lines = prompt.count("\n") + 1
    facts = f"{lines:,} lines" if lines > _SHORT_PROMPT else ""
    # Where there is an answer, that is what is looked for, and a long prompt would stand before it.
    return Section("Prompt", [Part(_text(prompt))], facts, open=not (answered and facts))


def _activity(progress: Progress) -> Section:
    said = progress.activity or "It has done nothing yet that is known."
    return Section("Last activity", [Part(_text(said))], tokens(progress.tokens) if progress.tokens else "")


def _facts(observation: Observation) -> str:
    blocks, pictures = len(observation.content), len(observation.images)
    facts = [f"{blocks - pictures:,} blocks"] if blocks - pictures > 1 else []
    if pictures:
        facts.append(quantity(pictures, "picture"))
    if observation.truncated:
        facts.append("truncated, recovered" if observation.recovered else "truncated, rest lost")
    return " · ".join(facts)


def _arguments(arguments: dict[str, Any], *, as_text: bool) -> Iterator[Part]:
    if not arguments:
        yield Part(_text("none", role="dim"))
        return
    # JSON would write the line breaks of code and texts as \n, which nobody can read.
    long = {
        key: value for key, value in arguments.items() if isinstance(value, str) and "\n" in value.strip()
    }
    short = {key: value for key, value in arguments.items() if key not in long}
    if short:
        yield Part(_json_or_text(_encode(short), as_text=as_text))
    for number, (key, value) in enumerate(long.items()):
        yield Part(_text(key, role="key"), apart=bool(short or number))
        text = _cleaned(value).expandtabs(4).strip("\n")
        language = "python" if "code" in key.lower() else ""
        yield Part(TextBody(text, style=style_code(text, language) if language else None, indent=_INDENT))


def _result(observation: Observation, *, as_text: bool) -> Iterator[Part]:
    told = False
    match observation:
        case WorkbenchObservation(stdout=stdout, stderr=stderr):
            for name, text, role in (("stdout", stdout, ""), ("stderr", stderr, "warn")):
                if text.strip():
                    yield Part(_text(name, role="key"), apart=told)
                    yield Part(_text(text.strip("\n"), role=role, indent=_INDENT))
                    told = True
        case _:
            pass
    pictures = 0
    for block in observation.content:
        if isinstance(block, ImageContent):
            pictures += 1
            yield Part(_picture(block, pictures), apart=told, step=_PICTURE_STEP)
            told = True
        elif block.text.strip() and block.text != observation.error:
            markdown = isinstance(observation, SubagentObservation) and not as_text
            yield Part(_block(block.text, markdown=markdown, as_text=as_text), apart=told)
            told = True
    structured = (
        observation.structured if isinstance(observation, McpObservation | NativeObservation) else None
    )
    if not told and structured is not None:
        yield Part(_json_or_text(_encode(structured), as_text=as_text))
    elif not told:
        yield Part(_text("Empty.", role="dim"))


def _picture(block: ImageContent, number: int) -> Body:
    """A picture below its number, size and properties; a line of text if it cannot be drawn."""
    name = f"Picture {number}"
    kind = clean_line(block.mime_type, 80)
    try:
        data = base64.b64decode(block.data, validate=True)
    except (binascii.Error, ValueError):
        return TextBody(f"{name} · {kind} · {size(len(block.data))} · It is damaged and cannot be shown.")
    header = read_header(data)
    if header is None:
        return TextBody(f"{name} · {kind} · {size(len(data))} · Its format is not supported.")
    return PictureBody(header, data, caption=f"{name} · {size(len(data))}")


def _parted(notes: list[Part], parts: list[Part]) -> list[Part]:
    """The notes above the parts, with an empty row between."""
    if not notes:
        return parts
    first = Part(parts[0].body, apart=True, step=parts[0].step)
    return [*notes, first, *parts[1:]]


def _block(text: str, *, markdown: bool, as_text: bool) -> Body:
    if text.lstrip()[:1] in {"{", "["}:
        return _json_or_text(text, as_text=as_text)
    if markdown and len(text) <= RENDERED_CHARACTERS:
        return MarkdownBody(_cleaned(text))
    return _text(text)


def _json_or_text(text: str, *, as_text: bool) -> Body:
    try:
        if not as_text and len(text) <= _LARGEST_TREE:
            level = open_level(text.strip().encode("utf-8", "replace"))
            if level is not None:
                return _opened(JsonTree(level))
        elif len(text) <= _LONGEST:
            return json_body(text.strip())
    except (ValueError, RecursionError):
        pass
    return _text(text)


def _opened(tree: JsonTree) -> JsonTree:
    """Unfold level by level what goes on a screen: what a tool found lies under wrappers of its service.

    Of a list of several items each is a row that says what is in it.
    """
    branches = [tree.root]
    while branches:
        inner: list[Branch] = []
        closed: list[tuple[Branch, int, Level]] = []
        for branch in branches:
            if branch.names is None and len(branch.values) > _OPENED_ITEMS:
                continue
            for place in range(min(len(branch.values), _OPENED_ROWS)):
                if (child := branch.child(place)) is not None:
                    inner.append(child)
                elif len(memoryview(branch.value(place))) <= _OPENED_BYTES:
                    level = open_level(branch.value(place))
                    if level is not None and level[1]:
                        closed.append((branch, place, level))
        more = sum(len(level[1]) for _, _, level in closed)
        if len(closed) > 1 and tree.root.rows + more > _OPENED_ROWS:
            break
        inner += [found for branch, place, level in closed if (found := branch.unfold(place, level))]
        branches = inner
    return tree


def _encode(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, default=str)
    except (ValueError, TypeError, RecursionError):
        return f"({type(value).__name__} that cannot be written as JSON)"


def _text(text: str, *, role: str = "", indent: int = 0) -> TextBody:
    kept = _cleaned(text[:_LONGEST])
    if "\t" in kept:
        kept = kept.expandtabs(4)
    if len(text) > _LONGEST:
        kept += f"\n… {len(text) - _LONGEST:,} more characters"
    return TextBody(kept, style=_styler(role) if role else None, indent=indent)


def _cleaned(text: str) -> str:
    """Clean in steps, as the loop cannot run while one step does."""
    if len(text) <= _STEP:
        return clean(text)
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + _STEP
        if text[end - 1 : end] == "\r":
            end += 1
        parts.append(clean(text[start:end]))
        start = end
    return "".join(parts)


def _styler(role: str) -> LineStyler:
    def style(number: int, line: str) -> list[Span]:
        return [Span(0, len(line), role)]

    return style
