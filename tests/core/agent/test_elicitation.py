"""What MCP servers ask a person for: forms and their values, the gate, and the channel to the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.types import ElicitRequestFormParams

from tests.core.cases import cases_of
from tests.waiting import run_ready, until
from ua_tui.core.agent.bounds import LONGEST_TEXT, MOST_PARTS
from ua_tui.core.agent.mcp.elicitation import (
    ElicitationChannel,
    ElicitationGate,
    checked_form,
    checked_value,
    field_hint,
    read_form,
)
from ua_tui.core.errors import FormError
from ua_tui.core.events.types import ElicitationAnswered, ElicitationAsked, Event, FormField, FormOption
from ua_tui.core.redaction.redactor import Redactor

CASES = cases_of(__file__)

PROPERTIES: dict[str, Any] = CASES["properties"]
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["name", "size"]}
FIELDS = {field.name: field for field in read_form(SCHEMA)}


def request(**more: Any) -> dict[str, Any]:
    return {"mcp_server_name": "desk", "message": "Who?", "mode": "form", "requested_schema": SCHEMA} | more


def gate_of(
    events: list[Event], *secrets: str, interactive: bool = True, redactor: Redactor | None = None
) -> ElicitationGate:
    def publish(event: Event) -> Event:
        events.append(event)
        return event

    return ElicitationGate(publish, interactive=interactive, redactor=redactor or Redactor(secrets))


async def begun(gate: ElicitationGate, asked: Mapping[str, Any]) -> asyncio.Task[dict[str, Any]]:
    task = asyncio.create_task(gate.ask(asked))
    await run_ready()
    return task


def asked_in(events: list[Event]) -> ElicitationAsked:
    return next(event for event in reversed(events) if isinstance(event, ElicitationAsked))


def answered_in(events: list[Event]) -> ElicitationAnswered:
    return next(event for event in reversed(events) if isinstance(event, ElicitationAnswered))


def test_a_form_has_the_fields_of_the_specification_in_their_order() -> None:
    # What the package of the protocol accepts, and only that, is read.
    ElicitRequestFormParams(message="", requested_schema=SCHEMA)
    assert list(FIELDS) == list(PROPERTIES)
    assert FIELDS["name"] == FormField(name="name", title="Name", required=True, least=2, most=5)
    assert FIELDS["size"].options == [
        FormOption(value="s", title="small"),
        FormOption(value="m", title="medium"),
    ]
    assert [option.title for option in FIELDS["colour"].options] == ["Red", "Blue"]
    assert (FIELDS["tags"].kind, FIELDS["tags"].default) == ("choices", ["a"])
    assert FIELDS["agreed"].default is True
    # A field for a secret is not filled in.
    assert [(each.secret, each.default) for each in (FIELDS["apiKey"], FIELDS["pin"])] == [(True, None)] * 2
    assert field_hint(FIELDS["name"]) == "2 to 5 characters"
    assert field_hint(FIELDS["ratio"]) == "at most 1.5"
    assert field_hint(FIELDS["mail"]) == "an e-mail address, such as name@example.com"


def test_another_schema_is_refused_with_the_reason() -> None:
    many = {str(each): {"type": "string"} for each in range(MOST_PARTS + 1)}
    for schema, problem in (
        *CASES["another_schema_is_refused_with_the_reason"],
        ({"type": "object", "properties": {"a\x1b" * 200: {"type": "string"}}}, "the field “a\ufffda"),
        ({"type": "object", "properties": many}, "its form has 51 fields"),
    ):
        with pytest.raises(FormError, match=problem):
            read_form(schema)


def test_a_value_is_checked_against_its_field() -> None:
    for name, raw, wanted in (
        *CASES["a_value_is_checked_against_its_field"],
        ("ratio", float("inf"), "Enter a number"),
    ):
        if isinstance(wanted, str) and wanted != raw:
            with pytest.raises(FormError, match=wanted):
                checked_value(FIELDS[name], raw)
        else:
            found = checked_value(FIELDS[name], raw)
            assert (found, type(found)) == (wanted, type(wanted))


def test_a_form_has_its_defaults_leaves_out_what_is_empty_and_names_the_field_that_is_wrong() -> None:
    fields = list(FIELDS.values())
    given = {"name": "Ann", "size": "m"}
    assert checked_form(fields, given) == {**given, "tags": ["a"], "count": 3, "agreed": True}
    assert checked_form(fields, {**given, "mail": "", "tags": [], "count": None}) == {**given, "agreed": True}
    with pytest.raises(FormError, match="Name: An answer is required"):
        checked_form(fields, {"size": "m"})
    with pytest.raises(FormError, match="no field wage"):
        checked_form(fields, {"name": "Ann", "size": "m", "wage": 1})


async def test_an_answer_goes_to_the_server_and_its_secrets_nowhere_else() -> None:
    events: list[Event] = []
    redactor = Redactor(("known-secret-1",))
    gate = gate_of(events, redactor=redactor)
    task = await begun(gate, request(message="Who?\x1b[2J known-secret-1 " + "x" * 9_000))
    asked = asked_in(events)
    assert "\x1b" not in asked.message
    assert "known-secret-1" not in asked.message
    assert len(asked.message) == LONGEST_TEXT
    # A wrong value leaves the request waiting.
    with pytest.raises(FormError):
        gate.answer(asked.request_id, "accept", {"name": "A", "size": "m"})
    assert gate.is_waiting
    values = {"name": "Ann", "size": "m", "pin": "known to none", "page": "https://a.example/known-secret-1"}
    assert gate.answer(asked.request_id, "accept", values)
    assert not gate.answer(asked.request_id, "decline")
    defaults = {"tags": ["a"], "count": 3, "agreed": True}
    assert await task == {"action": "accept", "content": {**values, **defaults}}
    answered = answered_in(events)
    assert answered.values == {
        "name": "Ann", "size": "m", "pin": "[redacted]", "page": "https://a.example/[redacted]", **defaults,
    }  # fmt: skip
    # What the server repeats is masked as well.
    assert redactor.redact("You said: known to none") == "You said: [redacted]"
    assert not gate.is_waiting


async def test_a_subscriber_may_answer_at_once() -> None:
    events: list[Event] = []

    def publish(event: Event) -> Event:
        events.append(event)
        if isinstance(event, ElicitationAsked):
            assert gate.answer(event.request_id, "accept", {"name": "Ann", "size": "m"})
        return event

    gate = ElicitationGate(publish, interactive=True, redactor=Redactor(()))
    assert (await gate.ask(request()))["action"] == "accept"
    assert [type(event) for event in events] == [ElicitationAsked, ElicitationAnswered]


async def test_what_cannot_be_asked_is_declined_with_the_reason() -> None:
    events: list[Event] = []
    assert await gate_of(events, interactive=False).ask(request()) == {"action": "decline"}
    assert answered_in(events).by == "headless"
    gate = gate_of(events, "known-secret-1")
    for wrong, why in (
        (request(requested_schema={"type": "string"}), "no fields that can be read"),
        (request(mode="url", url=""), "no address that can be shown"),
        (request(mode="url", url="https://a.example/" + "x" * 5_000), "no address that can be shown"),
        (
            # What is masked on the screen could not be sent back.
            request(
                requested_schema={"type": "object", "properties": {"known-secret-1": {"type": "string"}}}
            ),
            "contain a secret",
        ),
    ):
        assert await gate.ask(wrong) == {"action": "decline"}
        assert answered_in(events).by == "program"
        assert why in answered_in(events).reason
    # A flood of requests ends.
    tasks = [await begun(gate, request()) for _ in range(MOST_PARTS + 1)]
    assert await tasks[-1] == {"action": "decline"}
    gate.cancel_all("The person interrupted the work.")
    assert await asyncio.gather(*tasks[:-1]) == [{"action": "cancel"}] * MOST_PARTS
    assert answered_in(events).by == "interrupted"


async def test_the_channel_answers_requests_and_lets_go_of_those_that_are_withdrawn() -> None:
    events: list[Event] = []
    gate = gate_of(events)
    written: list[dict[str, Any]] = []

    async def write(line: str) -> None:
        written.append(json.loads(line))

    channel = ElicitationChannel(gate.ask, write)
    message = {"type": "control_request", "request_id": "r1", "request": request(subtype="elicitation")}
    assert not channel.handles(message | {"request": {"subtype": "can_use_tool"}})
    assert not channel.handles({"type": "control_cancel_request", "request_id": "r1"})
    assert not channel.handles({"type": "assistant", "message": {}})
    assert channel.handles(message)
    await run_ready()
    gate.answer(asked_in(events).request_id, "decline")
    await until(lambda: written)
    assert written == [
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "r1", "response": {"action": "decline"}},
        }
    ]
    # Withdrawn by the command line, and by the end of the connection.
    for ends in ("cancel", "close"):
        assert channel.handles(message)
        await run_ready()
        if ends == "cancel":
            assert channel.handles({"type": "control_cancel_request", "request_id": "r1"})
        else:
            await channel.close()
        await until(lambda: not gate.is_waiting)
        assert (answered_in(events).action, answered_in(events).by) == ("cancel", "withdrawn")
    assert len(written) == 1


async def test_a_request_that_cannot_be_handled_is_cancelled() -> None:
    written: list[str] = []

    async def fail(_request: Mapping[str, Any]) -> dict[str, Any]:
        raise RuntimeError

    async def write(line: str) -> None:
        written.append(line)
        raise OSError

    channel = ElicitationChannel(fail, write)
    channel.handles(
        {"type": "control_request", "request_id": "r1", "request": request(subtype="elicitation")}
    )
    await until(lambda: written)
    assert '"action": "cancel"' in written[0]
