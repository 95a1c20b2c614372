"""The gate where the request of an MCP server waits for a person's answer, and the form to be filled in."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ua_tui.core.agent.bounds import LONGEST_NAME, LONGEST_TEXT, MOST_ENTRIES, MOST_PARTS
from ua_tui.core.bus import Publish
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import ElicitationAnswered, ElicitationAsked, FormField, FormOption
from ua_tui.core.json_values import JsonMapping, JsonObject, list_in, object_in, objects_in, text_in, value_in
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import REDACTED, Redactor, mask_link
from ua_tui.core.redaction.values import names_given_secret
from ua_tui.core.tasks import end_tasks
from ua_tui.core.text import clean, clean_line

Value = str | int | float | bool | list[str]

_LONGEST_ANSWER = 10_000
"""How many characters a text can have whose field names no limit."""
_EMAIL = Meta(pattern=r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)*\Z")
_FORMATS: Mapping[str, tuple[str, Any]] = {
    "email": ("an e-mail address, such as name@example.com", Annotated[str, _EMAIL]),
    "uri": (
        "an address, such as https://example.com",
        Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:[^ ]+\Z")],
    ),
    "date": ("a date, such as 2026-11-23", date),
    "date-time": (
        "a date and a time with its zone, such as 2026-11-23T09:30:00Z",
        Annotated[datetime, Meta(tz=True)],
    ),
}
"""What a text with a format is, and what it is read as."""
_KINDS = {"object": "an object", "array": "a list without choices", "null": "nothing"}


def read_form(schema: object) -> list[FormField]:
    """Read the fields of a form from its JSON Schema, in their order.

    Raises:
        FormError: it is not a flat schema of texts, numbers, booleans and choices, or it is too large.
    """
    properties = object_in(schema).get("properties", {})
    if value_in(schema, "type") != "object" or not isinstance(properties, dict):
        raise FormError("its form has no fields that can be read")
    if len(properties) > MOST_PARTS:
        raise FormError(f"its form has {len(properties)} fields, but {MOST_PARTS} is the limit")
    needed = set(map(str, list_in(schema, "required")))
    return [_field(name, each, name in needed) for name, each in properties.items()]


def _field(name: str, schema: object, required: bool) -> FormField:
    shown = clean(name[:60])
    if len(name) > LONGEST_NAME or not isinstance(schema, dict):
        raise FormError(f"the field “{shown}” of its form cannot be read")
    title = _cleaned(schema.get("title"), LONGEST_NAME) or shown
    about = _cleaned(schema.get("description"), 1_000)
    kind, options = schema.get("type"), _options(schema)
    changes: JsonObject
    if kind == "string" and options is not None:
        changes = {"kind": "choice", "options": options}
    elif kind == "array" and (options := _options(schema.get("items"))) is not None:
        changes = {"kind": "choices", "options": options, **_limits(schema, "minItems", "maxItems")}
    elif kind == "string":
        form = _cleaned(schema.get("format"), 40)
        is_secret = form == "password" or any(map(names_given_secret, (name, title)))
        changes = {"format": form, "secret": is_secret, **_limits(schema, "minLength", "maxLength")}
    elif kind in ("number", "integer"):
        changes = {"kind": kind, **_limits(schema, "minimum", "maximum")}
    elif kind == "boolean":
        changes = {"kind": kind}
    else:
        description = _KINDS.get(str(kind), "of an unknown type")
        raise FormError(
            f"the field “{shown}” of its form is {description}, "
            "but a form can have only text, numbers, booleans and choices"
        )
    field = FormField(name=name, title=title, about=about, required=required, **changes)
    if (default := schema.get("default")) is not None and not field.secret:
        # One that is not valid is left out.
        with suppress(FormError):
            return replace(field, default=checked_value(field, default))
    return field


def _options(schema: object) -> list[FormOption] | None:
    """The choices of a schema: plain ones, or with titles; None if it has none."""
    if not isinstance(schema, dict):
        return None
    if isinstance(values := schema.get("enum"), list):
        names = list_in(schema, "enumNames")
        titles = names if len(names) == len(values) else values
        found = list(zip(values, titles, strict=True))
    elif isinstance(titled := schema.get("oneOf", schema.get("anyOf")), list):
        found = [(each.get("const"), each.get("title")) for each in objects_in(titled)]
    else:
        return None
    if not found or len(found) > MOST_ENTRIES:
        raise FormError(f"a field of its form has {len(found)} choices, but must have 1 to {MOST_ENTRIES}")
    if any(not isinstance(value, str) or len(value) > _LONGEST_ANSWER for value, _ in found):
        raise FormError("a field of its form has choices that are not text")
    return [FormOption(value=value, title=_cleaned(title, LONGEST_NAME) or value) for value, title in found]


def _limits(schema: JsonMapping, least: str, most: str) -> dict[str, float]:
    limits = {"least": schema.get(least), "most": schema.get(most)}
    return {
        name: limit
        for name, limit in limits.items()
        if isinstance(limit, int | float) and not isinstance(limit, bool) and math.isfinite(limit)
    }


def _cleaned(value: object, limit: int) -> str:
    return clean(text_in(value)[:limit]).strip()


def field_hint(field: FormField) -> str:
    """Describe what may be entered, such as `2 to 40 characters`; empty if there is nothing to say."""
    if field.kind == "choices":
        return _range(field, "choice")
    if field.kind != "text":
        return _range(field, "")
    description, _ = _FORMATS.get(field.format, ("", ""))
    return ", ".join(filter(None, (description, _range(field, "character"))))


def _range(field: FormField, unit: str) -> str:
    least, most = field.least, field.most
    if unit and not least:
        least = None
    shown = most if most is not None else least
    units = f" {unit}{'' if shown == 1 else 's'}" if unit else ""
    if least is not None and most is not None:
        return f"{least:g}{units}" if least == most else f"{least:g} to {most:g}{units}"
    if most is not None:
        return f"at most {most:g}{units}"
    return f"at least {least:g}{units}" if least is not None else ""


def checked_form(fields: Sequence[FormField], values: Mapping[str, object]) -> dict[str, Value]:
    """Check all values of a form: a field without a value has its default, and one that is empty is left out.

    Raises:
        FormError: a value does not fit its field, or there is no such field.
    """
    names = {field.name for field in fields}
    if unknown := [name for name in values if name not in names]:
        raise FormError(f"The form has no field {clean(unknown[0][:60])}.")
    checked: dict[str, Value] = {}
    for field in fields:
        try:
            value = checked_value(field, values.get(field.name, field.default))
        except FormError as error:
            raise FormError(f"{field.title}: {error}") from error
        if value is not None:
            checked[field.name] = value
    return checked


def checked_value(field: FormField, raw: object) -> Value | None:
    """Return the value of a field for what was entered, as a text or as the value itself; None if it is left empty.

    Raises:
        FormError: it does not fit; the message is a sentence.
    """
    if raw is None or raw in ("", []):
        if field.required:
            raise FormError("An answer is required.")
        return None
    match field.kind:
        case "text":
            return _checked_text(field, raw)
        case "number" | "integer":
            return _checked_number(field, raw)
        case "boolean" if isinstance(raw, bool):
            return raw
        case "choice" if isinstance(raw, str) and _is_offered(field, raw):
            return raw
        case "choices" if isinstance(raw, list) and all(_is_offered(field, each) for each in raw):
            _refuse_unless(_is_within(field, len(set(raw))), f"Choose {_range(field, 'choice')}.")
            return list(dict.fromkeys(raw))
        case _:
            raise FormError("Choose one of the answers.")


def _is_offered(field: FormField, value: object) -> bool:
    return any(option.value == value for option in field.options)


def _is_within(field: FormField, number: float) -> bool:
    return (field.least is None or number >= field.least) and (field.most is None or number <= field.most)


def _checked_text(field: FormField, raw: object) -> str:
    if not isinstance(raw, str):
        raise FormError("Enter some text.")
    _refuse_unless(len(raw) <= _LONGEST_ANSWER, f"The text has more than {_LONGEST_ANSWER:,} characters.")
    _refuse_unless(_is_within(field, len(raw)), f"Enter {_range(field, 'character')}; this is {len(raw)}.")
    if field.format in _FORMATS:
        description, kind = _FORMATS[field.format]
        _converted(field, raw, kind, description)
    return raw


def _checked_number(field: FormField, raw: object) -> int | float:
    whole = field.kind == "integer"
    wanted = "a whole number, such as 3" if whole else "a number, such as 2.5"
    given = raw.strip() if isinstance(raw, str) else raw
    number: int | float = _converted(field, given, int if whole else int | float, wanted)
    is_finite = -math.inf < number < math.inf
    _refuse_unless(is_finite and _is_within(field, number), f"Enter a number: {_range(field, '')}.")
    return number


def _converted(field: FormField, raw: object, kind: Any, wanted: str) -> Any:
    try:
        return msgspec.convert(raw, kind, strict=field.kind == "text")
    except msgspec.ValidationError as error:
        raise FormError(f"Enter {wanted}.") from error


def _refuse_unless(holds: bool, problem: str) -> None:
    if not holds:
        raise FormError(problem)


ElicitationAction = Literal["accept", "decline", "cancel"]
_By = Literal["person", "headless", "program", "interrupted", "withdrawn"]

_NOBODY = "no one is available to answer"


class _Answer(msgspec.Struct, frozen=True):
    action: ElicitationAction
    by: _By = "person"
    reason: str = ""
    values: dict[str, Value] = {}


class ElicitationGate(msgspec.Struct, eq=False):
    """Asks a person for a server, waits without a time limit, and answers exactly once.

    If nobody can be asked (`interactive=False`), or the request cannot be shown, it is declined with a reason. What
    was entered goes to the server and, with secrets masked, into the event; fields for secrets are never recorded.

    Args:
        publish: publishes an event.
        interactive: whether a person can be asked.
        redactor: masks secrets, and learns those that are entered.
    """

    publish: Publish
    interactive: bool
    redactor: Redactor
    _waiting: dict[str, tuple[Sequence[FormField], asyncio.Future[_Answer]]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a server waits for a person."""
        return bool(self._waiting)

    async def ask(self, request: JsonMapping, tool_use_id: str | None = None) -> JsonObject:
        """Answer a request as the command line passes it on: `action`, and for a form its `content`.

        `tool_use_id` is the call in which the server asks, if that is known.
        """
        fields, problem = self._read(request)
        asked = ElicitationAsked(
            request_id=uuid4().hex[:12],
            server=clean_line(str(request.get("mcp_server_name") or ""), 100) or "a server",
            message=self.redactor.redact(clean(text_in(request, "message")).strip())[:LONGEST_TEXT],
            mode="url" if request.get("mode") == "url" else "form",
            url=clean(text_in(request, "url"))[:LONGEST_TEXT],
            fields=fields,
            tool_use_id=tool_use_id,
        )
        full = f"{MOST_PARTS} server requests are already waiting" if len(self._waiting) >= MOST_PARTS else ""
        if problem or not self.interactive or full:
            self.publish(asked)
            by: _By = "program" if problem or self.interactive else "headless"
            answer = _Answer("decline", by, problem or (full if self.interactive else _NOBODY))
        else:
            answer = await self._put(asked)
        self._answered(asked, answer)
        given: JsonObject = {"action": answer.action}
        if answer.action == "accept" and asked.mode == "form":
            given["content"] = answer.values
        return given

    def answer(
        self,
        request_id: str,
        action: ElicitationAction,
        values: Mapping[str, object] | None = None,
        *,
        unattended: bool = False,
    ) -> bool:
        """Answer a request, or decline it `unattended`; returns False if none waits under this id.

        Raises:
            FormError: a value does not fit its field; the request still waits.
        """
        fields, future = self._waiting.get(request_id, ((), None))
        if future is None or future.done():
            return False
        given = checked_form(fields, values or {}) if action == "accept" else {}
        by: _By = "headless" if unattended else "person"
        future.set_result(_Answer(action, by, _NOBODY if unattended else "", given))
        return True

    def cancel_all(self, reason: str) -> None:
        """Cancel every waiting request."""
        for _, future in self._waiting.values():
            if not future.done():
                future.set_result(_Answer("cancel", "interrupted", reason))

    async def _put(self, asked: ElicitationAsked) -> _Answer:
        """Publish a request, and wait for its answer, which a subscriber may give at once."""
        future: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._waiting[asked.request_id] = asked.fields, future
        self.publish(asked)
        try:
            return await future
        except asyncio.CancelledError:
            given = future.result() if future.done() and not future.cancelled() else None
            withdrawn = _Answer("cancel", "withdrawn", "it stopped waiting")
            self._answered(asked, given if given is not None and given.by != "person" else withdrawn)
            raise
        finally:
            self._waiting.pop(asked.request_id, None)

    def _read(self, request: JsonMapping) -> tuple[list[FormField], str]:
        """The fields of the form, and why it cannot be shown."""
        if request.get("mode") == "url":
            url = text_in(request, "url")
            return [], "" if 0 < len(url) <= LONGEST_TEXT else "it gave no address that can be shown"
        try:
            fields = read_form(request.get("requested_schema"))
        except FormError as error:
            return [], str(error)
        # The name of a field and the values of its options are sent back to the server as they are.
        sent = [text for each in fields for text in (each.name, *(option.value for option in each.options))]
        if self.redactor.redact_value(sent) != sent:
            # What is masked could not be sent back.
            return [], "the names or choices of its form contain a secret"
        masked = (self.redactor.redact_value(each.default) != each.default for each in fields)
        return [
            replace(each, default=None) if hidden else each
            for each, hidden in zip(fields, masked, strict=True)
        ], ""

    def _answered(self, asked: ElicitationAsked, answer: _Answer) -> None:
        secret = {each.name for each in asked.fields if each.secret}
        for name in secret & answer.values.keys():
            self.redactor.add(str(answer.values[name]))
        recorded = {name: REDACTED if name in secret else value for name, value in answer.values.items()}
        self.publish(
            ElicitationAnswered(
                request_id=asked.request_id,
                server=asked.server,
                action=answer.action,
                by=answer.by,
                message=asked.message,
                url=mask_link(asked.url) if asked.url else "",
                values=self.redactor.redact_value(recorded),
                reason=clean(answer.reason),
                tool_use_id=asked.tool_use_id,
            )
        )


Ask = Callable[[JsonMapping], Awaitable[JsonObject]]
"""Asks the person: the request of the command line -> the answer to the server. Cancelled if it is withdrawn."""


class ElicitationChannel(msgspec.Struct, eq=False):
    """Picks the requests out of the messages of the command line, and writes the answers.

    A request is withdrawn when its query is stopped, or when its server is gone or no longer waits.
    """

    ask: Ask
    write: Callable[[str], Awaitable[None]]
    _waiting: dict[str, asyncio.Task[None]] = {}

    def handles(self, message: JsonMapping) -> bool:
        """Handle a message, if it is such a request or withdraws one; returns whether it is."""
        kind, request_id = message.get("type"), str(message.get("request_id"))
        if kind == "control_cancel_request" and request_id in self._waiting:
            self._waiting[request_id].cancel()
            return True
        if kind != "control_request" or message["request"].get("subtype") != "elicitation":
            return False
        self._waiting[request_id] = asyncio.create_task(self._answer(request_id, message["request"]))
        return True

    async def close(self) -> None:
        """Withdraw what waits: nobody reads an answer any more."""
        await end_tasks(*self._waiting.values())
        self._waiting.clear()

    async def _answer(self, request_id: str, request: JsonMapping) -> None:
        try:
            try:
                answer = await self.ask(request)
            except Exception:
                log.exception("a request of an MCP server could not be answered")
                answer = {"action": "cancel"}
            response = {"subtype": "success", "request_id": request_id, "response": answer}
            await self.write(json.dumps({"type": "control_response", "response": response}) + "\n")
        except Exception as error:
            # The command line is gone, and the server with it.
            log.info("the answer to an MCP server could not be sent: %s", error)
        finally:
            # One that is withdrawn is still awaited until it has ended.
            self._waiting.pop(request_id, None)
