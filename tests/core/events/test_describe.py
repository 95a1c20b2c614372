"""Every event has a description; it is clean, complete, and says what happened."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, Literal, get_origin

import msgspec
import pytest

from tests.core.cases import cases_of
from ua_tui.core.events import describe as describe_module
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import EVENT_TYPES, decode_event, encode_event
from ua_tui.core.events.describe import (
    Hints,
    Severity,
    describe,
    describe_resume,
    describe_retry,
    describe_server,
)
from ua_tui.core.events.model_problems import CONNECTION_BROKE
from ua_tui.core.observation import CrawlObservation, McpObservation, TextContent

CASES = cases_of(__file__)

NASTY = "[red]\x1b[2J \u202egnp.exe"


def sample(kind: type[ev.Event], text: str = "text") -> ev.Event:
    """An event of a type, with `text` in every text that it requires."""

    def value(field: msgspec.structs.FieldInfo) -> Any:
        if field.type in (int, float):
            return 1
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            return field.type()
        return getattr(field.type, "__args__", [text])[0]

    return kind(**{each.name: value(each) for each in msgspec.structs.fields(kind) if each.required})


VALUES: dict[str, tuple[Any, ...]] = {
    "waits_for": ("model", "process", "tool", "subagent", "server"),
    "over": (False, True),
    "reason": ("text", "finished", "interrupted", "quit", "timeout", "limit", "signal", "forked"),
    "resumed_from": (None, "s"),
    "error": ("text", "billing_error", f"{CONNECTION_BROKE}3 s: it is gone"),
    "finding": ("", "text"),
    "red": (0, 1),
    "by_person": (False, True),
    "refused": (False, True),
    "tool_name": ("Bash", ev.EXIT_PLAN, ev.ASK_USER),
    "input": ({}, {"a": 1}),
    "mode": ("plan", "bypassPermissions"),
    "status": ("rejected", "allowed"),
    "url": ("", "https://h.example"),
}
"""The values by which an event has another sentence, beside those that its type lists."""


def variants(kind: type[ev.Event]) -> Iterator[ev.Event]:
    """Events of a type, with every combination of the values that its type or `VALUES` lists."""
    listed = {
        each.name: getattr(each.type, "__args__", ())
        if get_origin(each.type) is Literal
        else VALUES.get(each.name, ())
        for each in msgspec.structs.fields(kind)
    }
    given = {name: values for name, values in listed.items() if values}
    for values in itertools.product(*given.values()):
        yield msgspec.structs.replace(sample(kind), **dict(zip(given, values, strict=True)))


def test_every_event_has_a_clean_description_of_its_own() -> None:
    for kind in EVENT_TYPES:
        description = describe(sample(kind, NASTY))
        texts = (description.kind, description.sentence, *description.details)
        assert description.sentence
        assert not set("".join(texts)) & set("\x1b\u202e"), kind
        assert kind.__name__ not in description.sentence
    assert describe(ev.UnknownEvent(original_name="weather_changed")).kind == "weather_changed"


def test_every_sentence_is_that_of_an_event() -> None:
    read = json.loads(Path(describe_module.__file__).with_name("sentences.json").read_text("utf-8"))
    rows = [(kind, *row) for kind, events in read.items() for row in events.items()]
    assert {name.partition(".")[0] for _, name, _ in rows} == {
        str(kind.__struct_config__.tag) for kind in EVENT_TYPES
    }
    wanted = {
        (
            kind,
            row[0],
            # What is in brackets may be left out.
            re.sub(
                r"\\\[(.*?)\\\]",
                r"(?:\1)?",
                "".join(
                    re.escape(each[0]) + ".*" * (each[1] is not None) for each in Formatter().parse(row[1])
                ),
            ),
        )
        for kind, _, row in rows
    }
    found = [describe(each, Hints()) for kind in EVENT_TYPES for each in variants(kind)]
    assert not {
        each
        for each in wanted
        if not any(
            (one.kind, one.severity.value) == each[:2] and re.fullmatch(each[2], one.sentence)
            for one in found
        )
    }


def test_an_event_without_a_description_is_an_error() -> None:
    class Weather(ev.Event, frozen=True, kw_only=True):
        pass

    with pytest.raises(NotImplementedError, match="does not describe weather"):
        describe(Weather())


def test_texts_are_not_shortened_so_that_no_secret_is_cut_in_half() -> None:
    error = "e" * 5_000
    observation = McpObservation(
        tool_name="n", tool_use_id="t", server="s", content=(TextContent("x"),), error=error
    )
    call = ev.ToolCallFinished(tool_use_id="t", status="error", observation=observation)
    assert describe(call).details == (error,)
    # The agent is told why a call is over at once, and what to do; a person has stopped it.
    assert describe(msgspec.structs.replace(call, status="cancelled")).details == ()
    assert error in describe(ev.QueryFinished(query_id="q", status="error", error=error)).sentence
    assert error in describe(ev.ErrorRaised(where="x", message=error)).sentence


def test_a_call_is_described_by_its_label_and_with_the_time_a_person_took() -> None:
    call = ev.ToolCallFinished(tool_use_id="t", status="success", duration_ms=8_300)
    assert describe(call, Hints(tool="SEARCH_NEWS")).sentence == "SEARCH_NEWS finished in 8.3 s"
    seen = CrawlObservation(
        tool_name="n", tool_use_id="t", server="s", pages=1, failed=1, unread="a.example 404"
    )
    crawled = msgspec.structs.replace(call, observation=seen)
    told = "Crawl finished in 8.3 s: 1 of 2 pages read, 1 failed (a.example 404)"
    assert describe(crawled, Hints(tool="Crawl")).sentence == told
    waited = describe(call, Hints(tool="SEARCH_NEWS", waited_ms=6_100)).sentence
    assert waited == "SEARCH_NEWS finished in 8.3 s, 6.1 s waiting for you"


@pytest.mark.parametrize(
    ("status", "sentence", "severity"),
    [
        ("waiting", "SEND_MAIL did not run and is waiting", Severity.WARNING),
        ("blocked", "SEND_MAIL was blocked by its service", Severity.STOPPED),
    ],
)
def test_a_call_that_its_service_holds_is_described_with_the_reason(
    status: Literal["waiting", "blocked"], sentence: str, severity: Severity
) -> None:
    reason = "waiting for approval: Send it?"
    held = McpObservation(tool_name="m", tool_use_id="t", server="composio", error=reason, held=status)
    call = ev.ToolCallFinished(tool_use_id="t", status=status, observation=held)
    assert decode_event(encode_event(call)) == call
    described = describe(call, Hints(tool="SEND_MAIL"))
    assert (described.sentence, described.details) == (sentence, (reason,))
    assert described.severity is severity


@pytest.mark.parametrize(
    ("values", "sentence"), CASES["a_resumed_session_says_what_it_uses_and_what_that_replaces"]
)
def test_a_resumed_session_says_what_it_uses_and_replaces(values: dict[str, Any], sentence: str) -> None:
    fields = {"session_id": "s", "workspace": "/w", "cwd": "/", "version": "1", "resumed_from": "s"}
    assert describe_resume(ev.SessionStarted(**{**fields, **values})) == sentence


@pytest.mark.parametrize(("recorded", "clauses"), CASES["a_session_says_what_of_its_folder_mattered"])
def test_a_session_says_what_of_its_folder_mattered(recorded: dict[str, Any], clauses: list[str]) -> None:
    line = {"event": "session_started", "session_id": "s", "workspace": "/w", "cwd": "/", "version": "1"}
    event = msgspec.convert(line | recorded, ev.SessionStarted)
    assert describe(event).details == ("ua-tui 1, model default, permissions default", *clauses)


def test_a_final_error_is_not_retried() -> None:
    final = describe(ev.ApiRetry(attempt=1, max_attempts=10, delay_ms=500, error="billing_error"))
    assert (final.sentence, final.severity) == (
        "The model's service refused the request because the account has no credit.",
        Severity.ERROR,
    )
    retry = describe(ev.ApiRetry(attempt=2, max_attempts=10, delay_ms=1000, error="overloaded"))
    assert retry.sentence == "The model's service is overloaded; trying again in 1.0 s (2 of 10)."


def test_what_is_tried_again_says_so_and_why() -> None:
    server = ev.McpServer(name="notes", status="failed", error="it ended", again_s=1)
    description = describe_server(server)
    assert description.severity is Severity.RETRY
    assert description.sentence == "MCP server notes failed: it ended. Reconnecting automatically."
    clauses = CASES["why_it_is_tried_again_is_what_happened.clauses"]
    assert {error: describe_retry(error) for error in clauses} == clauses


def test_an_allowed_call_says_for_how_long_a_rule_holds() -> None:
    ends = {
        "once": "", "session": " for this session", "folder": " in this folder", "everywhere": " everywhere",
        "mode": " by the permission mode", "other": " (other)",
    }  # fmt: skip
    for scope, end in ends.items():
        answered = ev.PermissionAnswered(request_id="r", tool_name="Bash", decision="allow", scope=scope)
        assert describe(answered).sentence == f"Bash was allowed{end}"


@pytest.mark.parametrize(("kind", "field"), [
    (ev.ErrorRaised, "where"), (ev.AuthFinished, "toolkit"), (ev.AuthRequired, "toolkit"),
    (ev.ElicitationAnswered, "message"), (ev.TokensSpent, "model"), (ev.SubagentStarted, "description"),
    (ev.ObserverFinished, "note"), (ev.ArtifactSaved, "copied_to"), (ev.PermissionAnswered, "reason"),
])  # fmt: skip
def test_a_blank_text_is_left_out_as_an_empty_one_is(kind: type[ev.Event], field: str) -> None:
    for tool in ("Bash", ev.EXIT_PLAN) if kind is ev.PermissionAnswered else ("",):
        event = sample(kind)
        event = msgspec.structs.replace(event, **({"tool_name": tool} if tool else {}), **{field: ""})
        assert describe(msgspec.structs.replace(event, **{field: " \n"})) == describe(event)
