"""The demo's model: a server of the Anthropic Messages API that plays the script.

The next answer is computed from the request alone: without state, a retry gives the same answer. Steps are filled with
values that are taken out of the conversation.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ua_tui.core.demo.playbook import (
    LONG_INPUT,
    PROSE,
    THINKING,
    Library,
    Pace,
    PlaybookStep,
    ScriptedCall,
    Steps,
    any_match,
)
from ua_tui.core.events.continuation import RESUMED
from ua_tui.core.events.tool_names import inner_tools
from ua_tui.core.json_values import JsonMapping, JsonObject, object_in

CLASSIFIER_MARK = "Answer with exactly one word: SIMPLE or COMPLEX"
OPINION_MARK = "You give a second opinion on claims of a report."
_FIGURE = re.compile(r"\d[\d.,]*\d|\d")
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class Script(msgspec.Struct, eq=False):
    """Plays the playbooks of a library."""

    library: Library

    def next(self, request: JsonMapping) -> PlaybookStep:
        """The answer to a Messages API request."""
        conversation = read_conversation(request)
        if CLASSIFIER_MARK in conversation.system or CLASSIFIER_MARK in conversation.query:
            playbook = self.library.named(conversation.query)
            return PlaybookStep(text=playbook.classification if playbook is not None else "COMPLEX")
        if OPINION_MARK in conversation.system:
            return PlaybookStep(text=self._opinions(conversation.query))
        steps = self._steps(conversation)
        if steps is None:
            return PlaybookStep(text=self._introduction(conversation))
        if conversation.answers and (failures := [o for o in conversation.last_outcomes if o.failed]):
            before = _choose(steps, conversation.answers - 1, conversation)
            if before is None or not before.ignore_failures:
                step = before.failed if before is not None else None
                return (
                    self._turn(step, conversation)
                    if step is not None
                    else PlaybookStep(text=_gave_up(failures[0]))
                )
        step = _choose(steps, conversation.answers, conversation)
        if step is None:
            return PlaybookStep(text="That is all there is to this demo script.")
        return self._turn(step, conversation)

    def _steps(self, conversation: Conversation) -> Steps | None:
        playbooks = self.library.playbooks.values()
        if conversation.is_subagent:
            parts = (part for book in playbooks for part in book.agents.values())
            part = next((part for part in parts if any_match(part.match, conversation.opening)), None)
            if part is None:
                return None
            return part.sent_back if conversation.sent_back else part.steps
        for book in playbooks:
            for entry in book.entries:
                if any_match(entry.match, conversation.query):
                    return entry.steps
        playbook = self.library.named(conversation.query)
        return playbook.steps if playbook is not None else None

    def _turn(self, step: PlaybookStep, conversation: Conversation) -> PlaybookStep:
        values = {name: _evaluate(value, conversation) for name, value in step.values.items()}
        texts = self.library.texts
        return replace(
            step,
            text=_fill(step.text, values, texts),
            thinking=_fill(step.thinking, values, texts),
            calls=tuple(ScriptedCall(call.tool, _fill(call.input, values, texts)) for call in step.calls),
        )

    def _opinions(self, query: str) -> str:
        """A second opinion on each claim: as it is scripted, else by whether a passage has the claim's words."""
        data = json.loads(query[query.find("{") : query.rfind("}") + 1])
        scripted = [each for book in self.library.playbooks.values() for each in book.opinions]
        found: list[JsonObject] = []
        for claim in data["claims"]:
            known = next((each for each in scripted if any_match((each.match,), claim["sentence"])), None)
            passages = [data["passages"][key] for key in claim["passages"]]
            words = next((text for each in passages if (text := _around(claim["claim"], each))), "")
            if not words and (figure := _FIGURE.search(claim["claim"])):
                # The unit may have another spelling.
                words = next((text for each in passages if (text := _around(figure[0], each))), "")
            opinion = "agrees" if words else "not in the passage"
            if known is not None:
                opinion, words = known.opinion, known.words
            found.append({"id": claim["id"], "opinion": opinion, "words": words})
        return json.dumps({"opinions": found}, ensure_ascii=False)

    def _introduction(self, conversation: Conversation) -> str:
        if conversation.is_subagent:
            return "This is the scripted demo model. It has no script for this task, so nothing was done."
        prompts = "\n".join(f"- `{book.prompt}` ({book.title})" for book in self.library.playbooks.values())
        return f"This is the scripted demo model. It can play:\n\n{prompts}\n\nType one of these to try it."


def _choose(steps: Steps, index: int, conversation: Conversation) -> PlaybookStep | None:
    """The step at `index`, or of its alternatives the first whose condition holds."""
    if not 0 <= index < len(steps):
        return None
    found = steps[index]
    alternatives: tuple[PlaybookStep, ...] = found if isinstance(found, tuple) else (found,)
    return next((step for step in alternatives if not step.when or _evaluate(step.when, conversation)), None)


def _around(words: str, text: str) -> str:
    """Some words of a text with three on each side; empty if it does not have them."""
    found = re.search(
        rf"(?:\S+\s+){{0,3}}(?<![\d.]){re.escape(words)}(?!\d)\S*(?:\s+\S+){{0,3}}", text, re.IGNORECASE
    )
    return found[0] if found else ""


def _gave_up(outcome: ToolOutcome) -> str:
    reason = " ".join(outcome.text.split())[:300] or "no reason was given"
    tool = outcome.name.rsplit("__", 1)[-1] or "a tool"
    return (
        f"I could not continue: `{tool}` did not run.\n\n> {reason}\n\n"
        "Nothing else was done. Ask again to retry, or to allow it."
    )


def _evaluate(expression: str, conversation: Conversation) -> Any:
    """Compute a value of a step, or whether its condition is met."""
    return _compiled(expression)(
        result=conversation.result,
        text=conversation.text,
        find=_find,
        prompt=conversation.opening,
        tools=sorted(conversation.tools),
        workspace=conversation.workspace,
    )


@cache
def _compiled(expression: str) -> Callable[..., Any]:
    # Not needed before the first step that takes a value.
    from jinja2 import ChainableUndefined, Environment

    environment = Environment(undefined=ChainableUndefined)  # noqa: S701  # it makes no page
    environment.filters["each"] = _each
    return environment.compile_expression(expression)


def _find(pattern: str, text: str) -> list[str]:
    """What the first group of a pattern, or all of it, matches in a text, each once."""
    return list(dict.fromkeys(found.group(found.re.groups and 1) for found in re.finditer(pattern, text)))


def _each(rows: Iterable[Any], template: str, joint: str = "\n", html: bool = False) -> str:
    """A template for each row, filled with its fields and its number `n`; a row without fields is `row`."""
    shown: Callable[[Any], str] = (lambda value: escape(_text(value))) if html else _text
    filled = []
    for number, row in enumerate(rows, 1):
        fields = {"n": number, **(row if isinstance(row, dict) else {"row": row})}
        texts = {name: shown(value) for name, value in fields.items()}
        filled.append(template.format_map(defaultdict(str, texts)))
    return joint.join(filled)


def _fill(template: Any, values: JsonMapping, texts: Mapping[str, str]) -> Any:
    """Replace `${name}` in strings, `{"$value": name}` and `{"$file": name}` anywhere in `template`."""
    match template:
        case str():
            return _PLACEHOLDER.sub(lambda found: _text(values.get(found[1], found[0])), template)
        case {"$value": str(name)}:
            return values.get(name)
        case {"$file": str(name)}:
            return _fill(texts[name], values, texts)
        case dict():
            return {key: _fill(item, values, texts) for key, item in template.items()}
        case list():
            return [_fill(item, values, texts) for item in template]
        case _:
            return template


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "" if value is None else str(value)


SENT_BACK = "Stop hook feedback:"
INTERRUPTED = "[Request interrupted"
NOT_A_QUERY = ("<system-reminder>", "<local-command", "<command-", INTERRUPTED)
SUBAGENT_MARK = "cc_is_subagent=true"
FOLDER = re.compile(r"(?:session workspace is|working directory:) (/.*?)(?:\.?$|; paths )", re.MULTILINE)
"""The session's folder in our prompts, and in the command line's description of the agent's environment."""


class ToolOutcome(msgspec.Struct, frozen=True):
    """A finished tool call as the model sees it."""

    name: str
    input: JsonMapping
    text: str
    failed: bool

    @property
    def data(self) -> Any:
        """The result as JSON; None when it is not JSON."""
        return _json(self.text)

    def is_of(self, tool: str) -> bool:
        """Whether the call was of `tool`: its name, its last part, or a slug that it executed."""
        inner = (slug for slug, _ in inner_tools(self.input))
        return tool in (self.name, self.name.rsplit("__", 1)[-1], *inner)


class Conversation(msgspec.Struct, frozen=True):
    """The parts of a request that a script needs.

    `query` is the latest text of a person (or of the agent that delegates); `answers` is how many times the
    model has spoken since; `last_outcomes` are the tool results after the newest of these.
    """

    system: str
    tools: frozenset[str]
    opening: str
    query: str
    answers: int
    outcomes: Sequence[ToolOutcome]
    last_outcomes: Sequence[ToolOutcome]
    is_subagent: bool
    workspace: str

    def result(self, tool: str) -> Any:
        """The newest result of a tool as JSON; None without one."""
        return next((each.data for each in reversed(self.outcomes) if each.is_of(tool)), None)

    def text(self, tool: str) -> str:
        """The text of the newest result of a tool; empty without one."""
        return next((each.text for each in reversed(self.outcomes) if each.is_of(tool)), "")

    @property
    def sent_back(self) -> bool:
        """Whether a hook refused to let the agent stop."""
        return self.query.startswith(SENT_BACK)


def read_conversation(request: JsonMapping) -> Conversation:
    """Read a Messages API request."""
    system = "\n".join(_texts(request.get("system")))
    calls: dict[str, tuple[str, JsonMapping]] = {}
    outcomes: list[ToolOutcome] = []
    last_outcomes: list[ToolOutcome] = []
    opening = query = ""
    answers, has_spoken = 0, False
    environment = [system]
    for message in request["messages"]:
        content = message["content"]
        match message["role"]:
            case "assistant":
                answers, has_spoken = answers + 1, True
                last_outcomes = []
                for block in _content_blocks(content):
                    if block["type"] == "tool_use":
                        calls[block["id"]] = (block["name"], block["input"])
            case "user":
                found = list(_outcomes(content, calls))
                outcomes += found
                last_outcomes += found
                text = _query_text(content)
                # A query that is resumed goes on where it was.
                if text and not text.startswith(RESUMED):
                    opening, query, answers, has_spoken = opening or text, text, 0, False
                    last_outcomes = []
                elif text and has_spoken and all(each.failed for each in last_outcomes):
                    # Its last message was cut off, or its calls were: it says that again.
                    answers, last_outcomes, has_spoken = answers - 1, [], False
            case "system":
                environment += _texts(content)
    folder = next(filter(None, map(FOLDER.search, environment)), None)
    return Conversation(
        system=system,
        tools=frozenset(tool["name"] for tool in request.get("tools") or []),
        opening=opening,
        query=query,
        answers=answers,
        outcomes=outcomes,
        last_outcomes=last_outcomes,
        is_subagent=SUBAGENT_MARK in system,
        workspace=folder[1] if folder is not None else "",
    )


def _query_text(content: Any) -> str:
    """The text of a person in a user message; empty if it has only tool results or notes."""
    blocks = _content_blocks(content)
    has_results = any(block["type"] == "tool_result" for block in blocks)
    texts: list[str] = []
    interrupted = False
    for text in _texts(content):
        interrupted = interrupted or text.startswith(INTERRUPTED)
        if not text.lstrip().startswith(NOT_A_QUERY) and (interrupted or not has_results):
            texts.append(text)
    return "\n".join(texts).strip()


def _outcomes(content: Any, calls: Mapping[str, tuple[str, JsonMapping]]) -> Iterator[ToolOutcome]:
    for block in _content_blocks(content):
        if block["type"] == "tool_result":
            name, arguments = calls.get(block["tool_use_id"], ("", {}))
            text = "\n".join(_texts(block.get("content")))
            yield ToolOutcome(name, arguments, text, failed=bool(block.get("is_error")))


def _content_blocks(content: Any) -> list[JsonMapping]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def _texts(content: Any) -> list[str]:
    return [block["text"] for block in _content_blocks(content) if block["type"] == "text"]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


DEFAULT_MODEL = "scripted-demo"
OVERLOADED_STATUS = 529
FIRST_TOKEN_SECONDS = 0.45


class ModelServer(msgspec.Struct, eq=False):
    """Answers /v1/messages and /v1/messages/count_tokens, streaming or whole, at a given pace."""

    script: Script
    pace: Pace
    _refusals: Counter[str] = msgspec.field(default_factory=Counter)

    def routes(self) -> list[Route]:
        """The paths of the API that a Messages client uses."""
        return [
            Route("/v1/messages", self._messages, methods=["POST"]),
            Route("/v1/messages/count_tokens", self._count_tokens, methods=["POST"]),
        ]

    async def _messages(self, request: Request) -> Response:
        body = await request.json()
        turn = self.script.next(body)
        if turn.overloads:
            place = _place(request.headers.get("x-claude-code-session-id", ""), body)
            if self._refusals[place] < turn.overloads:
                self._refusals[place] += 1
                return api_error(OVERLOADED_STATUS, "overloaded_error", "Overloaded")
            del self._refusals[place]
        if body.get("stream"):
            return StreamingResponse(
                self._stream(turn, body),
                media_type="text/event-stream",
                headers={"cache-control": "no-cache"},
            )
        await self.pace.wait(FIRST_TOKEN_SECONDS)
        blocks = _blocks(turn, body)
        return JSONResponse(
            {
                **_message(body),
                "content": blocks,
                "stop_reason": _stop_reason(turn),
                "usage": _usage(body, blocks),
            },
            headers={"request-id": f"req_demo_{secrets.token_hex(8)}"},
        )

    async def _count_tokens(self, request: Request) -> Response:
        return JSONResponse({"input_tokens": _tokens(_prompt(await request.json()))})

    async def _stream(self, turn: PlaybookStep, body: JsonMapping) -> AsyncIterator[str]:
        blocks = _blocks(turn, body)
        start = _message(body)
        start["usage"] = _usage(body, [])
        yield _event("message_start", message=start)
        yield _event("ping")
        await self.pace.wait(FIRST_TOKEN_SECONDS)
        for index, block in enumerate(blocks):
            async for event in self._stream_block(index, block, turn.speed):
                yield event
        yield _event(
            "message_delta",
            delta={"stop_reason": _stop_reason(turn), "stop_sequence": None},
            usage=_usage(body, blocks),
        )
        yield _event("message_stop")

    async def _stream_block(self, index: int, block: JsonMapping, speed: float) -> AsyncIterator[str]:
        match block["type"]:
            case "thinking":
                empty: JsonObject = {"type": "thinking", "thinking": "", "signature": ""}
                text, rate, delta, field = block["thinking"], THINKING, "thinking_delta", "thinking"
            case "tool_use":
                empty = {**block, "input": {}}
                text = json.dumps(block["input"], ensure_ascii=False)
                rate, delta, field = LONG_INPUT, "input_json_delta", "partial_json"
            case _:
                empty = {"type": "text", "text": ""}
                text, rate, delta, field = block["text"], PROSE, "text_delta", "text"
        yield _event("content_block_start", index=index, content_block=empty)
        async for piece in self.pace.pieces(text, rate * speed):
            yield _event("content_block_delta", index=index, delta={"type": delta, field: piece})
        if block["type"] == "thinking":
            signature = {"type": "signature_delta", "signature": block["signature"]}
            yield _event("content_block_delta", index=index, delta=signature)
        yield _event("content_block_stop", index=index)


def api_error(status: int, kind: str, message: str) -> Response:
    """An error in the shape of the Anthropic API; a temporary one asks for a quick retry."""
    request_id = f"req_demo_{secrets.token_hex(8)}"
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}
    headers = {"request-id": request_id}
    if status == OVERLOADED_STATUS:
        headers |= {"x-should-retry": "true", "retry-after": "1"}
    return JSONResponse(body, status, headers=headers)


def _place(session: str, body: JsonMapping) -> str:
    """Identify one point of a conversation, to count the rejections of an overload."""
    contents = json.dumps(
        [message.get("content") for message in body["messages"] if message.get("role") != "system"]
    )
    return f"{session}:{hashlib.sha256(contents.encode()).hexdigest()}"


def _blocks(turn: PlaybookStep, body: JsonMapping) -> list[JsonObject]:
    """The content blocks of an answer; thinking only if the request asks for it."""
    blocks: list[JsonObject] = []
    thinking = object_in(body, "thinking")
    wants_thinking = thinking.get("type") in {"adaptive", "enabled"} and thinking.get("display") != "omitted"
    if turn.thinking and wants_thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": secrets.token_urlsafe(48)})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    blocks += [
        {
            "type": "tool_use",
            "id": f"toolu_demo{secrets.token_hex(9)}",
            "name": call.tool,
            "input": call.input,
        }
        for call in turn.calls
    ]
    return blocks


def _message(body: JsonMapping) -> JsonObject:
    return {
        "id": f"msg_demo{secrets.token_hex(10)}",
        "type": "message",
        "role": "assistant",
        "model": str(body.get("model") or DEFAULT_MODEL),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop_reason(turn: PlaybookStep) -> str:
    return "tool_use" if turn.calls else "end_turn"


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def _prompt(body: JsonMapping) -> str:
    return json.dumps([body.get("system"), body.get("tools"), body["messages"]])


def _tokens(text: str) -> int:
    return max(1, len(text) // 4)


def _usage(body: JsonMapping, blocks: Sequence[JsonMapping]) -> JsonObject:
    """Plausible numbers: everything before the newest message counts as cached by the previous request."""
    messages = body["messages"]
    everything = _tokens(_prompt(body))
    newest = min(everything, _tokens(json.dumps(messages[-1:])))
    cached = everything - newest if len(messages) > 1 else 0
    return {
        "input_tokens": min(newest, 12),
        "cache_creation_input_tokens": everything - cached - min(newest, 12),
        "cache_read_input_tokens": cached,
        "output_tokens": _tokens(json.dumps(blocks)),
    }
