"""A tool call as a document: its arguments, its result, and notes about the result."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import ToolCallStarted
from ua_tui.core.events.units import quantity, size, tokens
from ua_tui.core.observation import (
    ImageContent,
    Observation,
    SubagentObservation,
    TextContent,
    ToolCall,
    WorkbenchObservation,
)
from ua_tui.core.text import clean_line
from ua_tui.core.view.calls import FullCall
from ua_tui.core.view.records import Call
from ua_tui.tui.viewers.articles.page import article_body, article_in
from ua_tui.tui.viewers.articles.results import (
    articles_in,
    articles_table,
    hits_in,
    results_table,
)
from ua_tui.tui.viewers.bodies.json_text import json_body
from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.json_values import open_level
from ua_tui.tui.viewers.bodies.markdown import RENDERED_CHARACTERS, MarkdownBody
from ua_tui.tui.viewers.bodies.picture import PictureBody, read_header
from ua_tui.tui.viewers.bodies.record_table import record_table
from ua_tui.tui.viewers.bodies.text import TextBody, style_code
from ua_tui.tui.viewers.document import Body
from ua_tui.tui.viewers.reader import clean_in_steps
from ua_tui.tui.viewers.tool_call.sections import Part, Section, SectionsBody

_MAX_STORED = 128 << 20
_decode_content = msgspec.json.Decoder(tuple[TextContent | ImageContent, ...]).decode


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The result of a call with its full content, and the size of that in bytes.

    `problem` says why only the part that came with the event is available; empty if the content is complete.
    """

    observation: Observation
    size: int
    problem: str = ""


def read_stored_result(observation: Observation, folder: Path | None) -> StoredResult:
    """Read the stored result from the session's `folder`, compressed or not. Runs in a thread.

    Never raises: `problem` says what cannot be read. The path is as untrusted as the journal; a path that leads out of
    the folder is not followed.
    """
    part = StoredResult(observation, observation.size)
    if not observation.stored_at:
        return part
    name = clean_line(observation.stored_at, 200)
    if folder is None:
        return _only(part, f"the full result is in {name}")
    from ua_tui.core.storage.workspace import Workspace

    workspace = Workspace(folder, folder)
    try:
        path = workspace.artifact_path(observation.stored_at)
        if not workspace.exists(path):
            return _only(part, f"{name} no longer exists")
        data = workspace.read_artifact(path, _MAX_STORED + 1)
        if len(data) > _MAX_STORED:
            return _only(part, f"{name} is larger than {size(_MAX_STORED)}")
        content = _decode_content(data)
    except UniversalAgentError as error:
        return _only(part, clean_line(str(error), 400))
    except (ValueError, RecursionError):
        return _only(part, f"{name} is damaged")
    full = msgspec.structs.replace(observation, content=content)
    return StoredResult(full, full.size)


def _only(part: StoredResult, reason: str) -> StoredResult:
    return StoredResult(part.observation, part.size, f"Only a part of the result is shown: {reason}.")


_INDENT = 2
_ERROR_HEADINGS = {"waiting": ("Waiting", "warn"), "blocked": ("Blocked", "warn")}
_NO_RESULT = {
    "denied": "The call was denied, so there is no result.",
    "cancelled": "The call was cancelled before it returned a result.",
}
_CHANGED = "changed by you"
_MAX_TEXT = 4 * 1024 * 1024
_MAX_TREE = 128 * 1024 * 1024
_SHORT_PROMPT_LINES = 6
_PICTURE_STEP = 6


def is_agent(started: ToolCallStarted) -> bool:
    """Whether the call is that of a sub-agent."""
    return started.name in {"Agent", "Task"}


def call_body(
    call: FullCall,
    *,
    whole: Observation | None = None,
    as_text: bool = False,
    record: Call | None = None,
    notes: Sequence[str] = (),
    waiting: str = "",
) -> SectionsBody:
    """Return everything about a call, in sections; JSON as trees or, with `as_text`, as text.

    Takes long for large results: call it in a thread.

    Args:
        call: the call.
        whole: its result with its full content, if only a part of that came with its end.
        as_text: whether JSON is shown as text.
        record: what the session's view says about the sub-agent that the call started.
        notes: lines shown above the result.
        waiting: a line shown instead of a result that is still being read from its file.
    """
    sections: list[Section] = []
    started, finished, observation = call.started, call.finished, whole or call.observation
    if observation is not None and observation.error is not None:
        heading, role = _ERROR_HEADINGS.get(observation.held or "", ("Error", "bad"))
        sections.append(Section(heading, [Part(_text(observation.error, role=role))], role=role))
    arguments = started.input
    if is_agent(started):
        if record is not None and (record.tokens or record.activity):
            said = Part(_text(record.activity or "No activity yet."))
            sections.append(Section("Last activity", [said], tokens(record.tokens) if record.tokens else ""))
        prompt = arguments.get("prompt")
        if isinstance(prompt, str) and prompt.strip():
            arguments = {key: value for key, value in arguments.items() if key != "prompt"}
            sections.append(_prompt(prompt.strip(), answered=finished is not None))
    parts = list(_arguments(arguments, as_text=as_text))
    if call.changes:
        parts.append(Part(_text("what you changed", role="key"), apart=True))
        parts.append(Part(TextBody("\n".join(call.changes), indent=_INDENT)))
    sections.append(Section("Arguments", parts, _CHANGED if call.changes else ""))
    written: list[Part] = []
    if finished is None:
        parts = [Part(_text("The call is still running.", role="dim"))]
    elif waiting:
        parts = [Part(_text(waiting, role="dim"))]
    elif observation is None:
        parts = [Part(_text(_NO_RESULT.get(finished.status, "The call returned no result."), role="dim"))]
    else:
        parts = [Part(_text(note, role="warn")) for note in (*notes_of(observation), *notes)]
        _result(parts, observation, started, written, as_text=as_text)
    facts = "" if observation is None or waiting else _facts(observation)
    sections.append(Section("Answer" if is_agent(started) else "Result", parts, facts))
    if written:
        is_json = any(isinstance(part.body, JsonTree) for part in written)
        sections.append(Section("JSON" if is_json else "Text", written, open=False))
    return SectionsBody(sections)


def notes_of(observation: Observation | None) -> list[str]:
    """Return what a reader must know to trust a result: that it was truncated, and whether it was recovered."""
    if observation is None or not observation.truncated:
        return []
    if observation.recovered:
        return ["The agent saw a truncated result; the full result is shown here."]
    return ["The result was truncated before it was recorded; the rest is lost."]


def arguments_text(started: ToolCallStarted) -> str:
    """Return the arguments as JSON."""
    return _encode(started.input)


def result_text(observation: Observation | None) -> str:
    """Return the text of a result, the error first; empty if there is none."""
    if observation is None:
        return ""
    blocks = observation.to_llm_content
    return "\n".join(clean_in_steps(block.text) for block in blocks if isinstance(block, TextContent))


def _prompt(prompt: str, *, answered: bool) -> Section:
    lines = prompt.count("\n") + 1
    facts = f"{lines:,} lines" if lines > _SHORT_PROMPT_LINES else ""
    # A reader looks for the answer first, which a long prompt would push out of sight.
    return Section("Prompt", [Part(_text(prompt))], facts, open=not (answered and facts))


def _facts(observation: Observation) -> str:
    blocks, pictures = len(observation.content), len(observation.images)
    facts = [f"{blocks - pictures:,} blocks"] if blocks - pictures > 1 else []
    if pictures:
        facts.append(quantity(pictures, "picture"))
    if observation.truncated:
        facts.append("full result kept" if observation.recovered else "truncated, rest lost")
    return " · ".join(facts)


def _arguments(arguments: dict[str, Any], *, as_text: bool) -> Iterator[Part]:
    if not arguments:
        yield Part(_text("none", role="dim"))
        return
    # JSON would write the line breaks of code and text as \n, which is hard to read.
    long = {
        key: value for key, value in arguments.items() if isinstance(value, str) and "\n" in value.strip()
    }
    short = {key: value for key, value in arguments.items() if key not in long}
    if short:
        yield Part(_json_or_text(_encode(short), as_text=as_text))
    for number, (key, value) in enumerate(long.items()):
        yield Part(_text(key, role="key"), apart=bool(short or number))
        text = clean_in_steps(value).expandtabs(4).strip("\n")
        language = "python" if "code" in key.lower() else ""
        yield Part(TextBody(text, style=style_code(text, language) if language else "", indent=_INDENT))


def _result(
    parts: list[Part],
    observation: Observation,
    started: ToolCallStarted,
    written: list[Part],
    *,
    as_text: bool,
) -> None:
    """Add a result to the parts of its section; what is shown in a form to read is added to `written` as it is."""

    def add(body: Body, step: int = 1) -> None:
        parts.append(Part(body, apart=bool(parts), step=step))

    above, pictures = len(parts), 0
    if isinstance(observation, WorkbenchObservation):
        outputs = (("stdout", observation.stdout, ""), ("stderr", observation.stderr, "warn"))
        for name, text, role in outputs:
            if text.strip():
                add(_text(name, role="key"))
                parts.append(Part(_text(text.strip("\n"), role=role, indent=_INDENT)))
    for block in observation.content:
        if isinstance(block, ImageContent):
            pictures += 1
            add(_picture(block, pictures), _PICTURE_STEP)
        elif block.text.strip() and block.text != observation.error:
            forms = [] if as_text else reading_forms(started, block.text)
            for form in forms:
                add(form)
            if forms:
                written.append(Part(_json_or_text(block.text, as_text=False), apart=bool(written)))
            else:
                markdown = isinstance(observation, SubagentObservation) and not as_text
                add(_block(block.text, markdown=markdown, as_text=as_text))
    if len(parts) == above:
        add(_text("Empty.", role="dim"))


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


def _block(text: str, *, markdown: bool, as_text: bool) -> Body:
    if text.lstrip()[:1] in {"{", "["}:
        return _json_or_text(text, as_text=as_text, tables=True)
    if markdown and len(text) <= RENDERED_CHARACTERS:
        return MarkdownBody(clean_in_steps(text))
    return _text(text)


def _json_or_text(text: str, *, as_text: bool, tables: bool = False) -> Body:
    try:
        if not as_text and len(text) <= _MAX_TREE:
            level = open_level(text.strip().encode("utf-8", "replace"))
            if level is not None:
                return (record_table(level) if tables else None) or JsonTree(level)
        elif len(text) <= _MAX_TEXT:
            return json_body(text.strip())
    except (ValueError, RecursionError):
        pass
    return _text(text)


def _encode(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return json.dumps(value, default=str)
    except (ValueError, TypeError, RecursionError):
        return f"({type(value).__name__} that JSON cannot represent)"


def _text(text: str, *, role: str = "", indent: int = 0) -> TextBody:
    shown = clean_in_steps(text[:_MAX_TEXT])
    if "\t" in shown:
        shown = shown.expandtabs(4)
    if len(text) > _MAX_TEXT:
        shown += f"\n… {len(text) - _MAX_TEXT:,} more characters"
    return TextBody(shown, style=role, indent=indent)


_LONGEST = 256 * 1024
"""Longer results are parsed by the observers' process only; their files are shown as tables."""


def reading_forms(started: ToolCallStarted, text: str) -> list[Body]:
    """Return the bodies to read a result with; empty if it has no such form, or is too long to be searched for it.

    Takes as long as an observer of the result does: call it in a thread.
    """
    is_json = text.lstrip()[:1] in {"{", "["}
    if len(text) > _LONGEST or not (is_json or started.name.startswith("mcp__")):
        return []
    from ua_tui.observers.search.tool_names import policy_of_call

    call = ToolCall(tool_use_id=started.tool_use_id, name=started.name, input=started.input)
    forms = _page_forms(call, text)
    if not is_json:
        return forms
    from ua_tui.observers.decoding.decode import decode_text

    decoded = decode_text(text)
    if not forms:
        forms = [form for value in decoded.values if (form := _article_form(value)) is not None]
        if forms:
            return forms
    return forms if policy_of_call(call) == "never" else forms + _search_forms(call, decoded)


def _page_forms(call: ToolCall, text: str) -> list[Body]:
    """The pages that a tool read, as they are saved: one as a page, several as a list."""
    from ua_tui.observers.pages.reading import CRAWLER, interest_in, read_pages

    if call.name.endswith(f"__{CRAWLER}") or not interest_in(call):
        return []
    readings = read_pages(call, [text], None, datetime.now(UTC))
    pages = [msgspec.structs.asdict(page) for reading in readings for page in reading.pages]
    form = _article_form({"type": "article", **pages[0]} if len(pages) == 1 else {"articles": pages})
    return [form] if form is not None else []


def _article_form(value: Any) -> Body | None:
    if not isinstance(value, dict):
        return None
    if (hits := articles_in(value)) is not None:
        return articles_table(value, hits)
    article = article_in(value)
    return article_body(article) if article is not None else None


def _search_forms(call: ToolCall, decoded: Any) -> list[Body]:
    from ua_tui.observers.search.lists import recognise

    forms: list[Body] = []
    for page in recognise(call, decoded, datetime.now(UTC)).pages:
        scope = page.scope
        found = {
            "type": page.kind,
            "tool": scope.tool,
            "query": scope.query,
            "answer": scope.answer,
            "error": scope.error if not page.rows else None,
            "truncated": decoded.truncated,
            "preview": scope.preview,
            "results": page.rows,
        }
        hits = hits_in(found)
        if hits:
            forms.append(results_table(found, hits))
    return forms
