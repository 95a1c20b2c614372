"""The gate where the request of an MCP server waits for a person's answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import uuid4

import msgspec

from ua_tui.core.agent.bounds import LONGEST_TEXT, MOST_PARTS
from ua_tui.core.agent.elicitation.form import Value, checked_form, read_form
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import ElicitationAnswered, ElicitationAsked, Event, FormField
from ua_tui.core.redaction.redactor import REDACTED, Redactor, mask_link
from ua_tui.core.text import clean, clean_line

ElicitationAction = Literal["accept", "decline", "cancel"]
_By = Literal["person", "headless", "program", "interrupted", "withdrawn"]

_NOBODY = "no one is available to answer"


class _Answer(msgspec.Struct, frozen=True):
    action: ElicitationAction
    by: _By = "person"
    reason: str = ""
    values: dict[str, Value] = msgspec.field(default_factory=dict)


@dataclass
class _Waiting:
    fields: Sequence[FormField]
    future: asyncio.Future[_Answer] = field(repr=False)


class ElicitationGate(msgspec.Struct, eq=False):
    """Asks a person for a server, waits without a time limit, and answers exactly once.

    If nobody can be asked (`interactive=False`), or the request cannot be shown, it is declined with a reason. What
    was entered goes to the server and, with secrets masked, into the event; fields for secrets are never recorded.

    Args:
        publish: publishes an event.
        interactive: whether a person can be asked.
        redactor: masks secrets, and learns those that are entered.
    """

    publish: Callable[[Event], Event]
    interactive: bool
    redactor: Redactor
    _waiting: dict[str, _Waiting] = msgspec.field(default_factory=dict)

    @property
    def is_waiting(self) -> bool:
        """Whether a server waits for a person."""
        return bool(self._waiting)

    async def ask(self, request: Mapping[str, Any], tool_use_id: str | None = None) -> dict[str, Any]:
        """Answer a request as the command line passes it on: `action`, and for a form its `content`.

        `tool_use_id` is the call in which the server asks, if that is known.
        """
        fields, problem = self._read(request)
        asked = ElicitationAsked(
            request_id=uuid4().hex[:12],
            server=clean_line(str(request.get("mcp_server_name") or ""), 100) or "a server",
            message=self.redactor.redact(clean(_text(request.get("message"))).strip())[:LONGEST_TEXT],
            mode="url" if request.get("mode") == "url" else "form",
            url=clean(_text(request.get("url")))[:LONGEST_TEXT],
            fields=fields,
            tool_use_id=tool_use_id,
        )
        if (answer := self._refusal(problem)) is not None:
            self.publish(asked)
        else:
            answer = await self._put(asked)
        self._answered(asked, answer)
        given: dict[str, Any] = {"action": answer.action}
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
        waiting = self._waiting.get(request_id)
        if waiting is None or waiting.future.done():
            return False
        given = checked_form(waiting.fields, values or {}) if action == "accept" else {}
        by: _By = "headless" if unattended else "person"
        waiting.future.set_result(_Answer(action, by, _NOBODY if unattended else "", given))
        return True

    def cancel_all(self, reason: str) -> None:
        """Cancel every waiting request."""
        for waiting in self._waiting.values():
            if not waiting.future.done():
                waiting.future.set_result(_Answer("cancel", "interrupted", reason))

    def _refusal(self, problem: str) -> _Answer | None:
        """The answer to a request that nobody is asked; None if a person is."""
        if problem:
            return _Answer("decline", "program", problem)
        if not self.interactive:
            return _Answer("decline", "headless", _NOBODY)
        if len(self._waiting) >= MOST_PARTS:
            return _Answer("decline", "program", f"{MOST_PARTS} requests of servers are waiting already")
        return None

    async def _put(self, asked: ElicitationAsked) -> _Answer:
        """Publish a request, and wait for its answer, which a subscriber may give at once."""
        waiting = _Waiting(asked.fields, asyncio.get_running_loop().create_future())
        self._waiting[asked.request_id] = waiting
        self.publish(asked)
        try:
            return await waiting.future
        except asyncio.CancelledError:
            stopped = waiting.future.done() and not waiting.future.cancelled()
            given = waiting.future.result() if stopped else None
            withdrawn = _Answer("cancel", "withdrawn", "it no longer waits")
            self._answered(asked, given if given is not None and given.by != "person" else withdrawn)
            raise
        finally:
            self._waiting.pop(asked.request_id, None)

    def _read(self, request: Mapping[str, Any]) -> tuple[list[FormField], str]:
        """The fields of the form, and why it cannot be shown."""
        if request.get("mode") == "url":
            url = _text(request.get("url"))
            return [], "" if 0 < len(url) <= LONGEST_TEXT else "it gave no address that can be shown"
        try:
            fields = read_form(request.get("requested_schema"), request.get("property_order"))
        except FormError as error:
            return [], str(error)
        # The name of a field and the values of its options are sent back to the server as they are.
        if any(
            self._is_masked(text)
            for each in fields
            for text in (each.name, *(option.value for option in each.options))
        ):
            # What is masked could not be sent back.
            return [], "the names or choices of its form have a secret in them"
        return [self._without_masked_default(each) for each in fields], ""

    def _without_masked_default(self, form_field: FormField) -> FormField:
        default = form_field.default
        texts = default if isinstance(default, list) else [default]
        if any(isinstance(each, str) and self._is_masked(each) for each in texts):
            return msgspec.structs.replace(form_field, default=None)
        return form_field

    def _is_masked(self, text: str) -> bool:
        return bool(self.redactor.redact(text) != text)

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


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


log = logging.getLogger(__name__)

Ask = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]
"""Asks the person: the request of the command line -> the answer to the server. Cancelled if it is withdrawn."""


class ElicitationChannel(msgspec.Struct, eq=False):
    """Picks the requests out of the messages of the command line, and writes the answers.

    A request is withdrawn when its query is stopped, or when its server is gone or no longer waits.
    """

    ask: Ask
    write: Callable[[str], Awaitable[None]]
    _waiting: dict[str, asyncio.Task[None]] = msgspec.field(default_factory=dict)

    def handles(self, message: Mapping[str, Any]) -> bool:
        """Handle a message, if it is such a request or withdraws one; returns whether it is."""
        kind, request_id = message.get("type"), str(message.get("request_id"))
        if kind == "control_cancel_request" and request_id in self._waiting:
            self._waiting.pop(request_id).cancel()
            return True
        if kind != "control_request" or message["request"].get("subtype") != "elicitation":
            return False
        self._waiting[request_id] = asyncio.create_task(self._answer(request_id, message["request"]))
        return True

    def close(self) -> None:
        """Withdraw what waits: nobody reads an answer any more."""
        for task in self._waiting.values():
            task.cancel()
        self._waiting.clear()

    async def _answer(self, request_id: str, request: Mapping[str, Any]) -> None:
        try:
            answer = await self.ask(request)
        except Exception:
            log.exception("a request of an MCP server could not be answered")
            answer = {"action": "cancel"}
        self._waiting.pop(request_id, None)
        response = {"subtype": "success", "request_id": request_id, "response": answer}
        try:
            await self.write(json.dumps({"type": "control_response", "response": response}) + "\n")
        except Exception as error:
            # The command line is gone, and the server with it.
            log.info("the answer to an MCP server could not be sent: %s", error)
