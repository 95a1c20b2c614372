"""The letters in a mailbox, each checked by its reader: questions, answers and commands.

Everybody who may see a session can write an answer or a command, with this program or without it: what is read is
checked like any other input.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from ua_tui.core.agent.permissions.gate import REASON_LIMIT
from ua_tui.core.errors import TeamError
from ua_tui.core.events.codec import decode_event, encode_event
from ua_tui.core.events.types import ElicitationAsked, PermissionAsked
from ua_tui.core.team.records import Answer, Command
from ua_tui.core.text import clean, without_surrogates

LARGEST = 256 << 10
"""The most bytes of a question, an answer or the text of a command."""
# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(Answer)


class Letter(NamedTuple):
    """What a mailbox has for a session: the answer to a request, or a command, which has a `kind` and an `id`."""

    request: str
    text: str
    at: Any
    id: int
    kind: str
    by: str


def encode_question(asked: PermissionAsked | ElicitationAsked) -> str:
    """Encode what a session asks.

    Raises:
        TeamError: it is too large.
    """
    event = encode_event(asked)
    if len(event) > LARGEST:
        raise TeamError("the question is too large for the team to see")
    return event.decode("utf-8", "replace")


def read_question(event: str) -> PermissionAsked | ElicitationAsked | None:
    """Read what a question asks; None if it is not one."""
    try:
        asked = decode_event(event.encode("utf-8", "replace"))
    except ValueError:
        return None
    return asked if isinstance(asked, PermissionAsked | ElicitationAsked) else None


def encode_answer(answer: Answer) -> str:
    """Encode an answer.

    Raises:
        TeamError: it is too large.
    """
    try:
        encoded = msgspec.json.encode(answer)
    except (TypeError, ValueError, RecursionError) as error:
        raise TeamError(f"the answer cannot be sent: {error}") from error
    if len(encoded) > LARGEST:
        raise TeamError(f"the answer is larger than {LARGEST >> 10} KB: shorten it")
    return encoded.decode("utf-8", "replace")


def read_answer(request: str, text: str) -> Answer:
    """Read the answer to a request; what cannot be read allows nothing."""
    with suppress(msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        answer = _DECODER.decode(text[: LARGEST + 1])
        if (
            answer.request == request
            and len(answer.patterns) <= 50
            and max(map(len, answer.patterns), default=0) <= 1_000
        ):
            return msgspec.structs.replace(answer, reason=clean(answer.reason)[:REASON_LIMIT])
    return Answer(request=request, reason="The answer could not be read.")


def command_text(command: Command) -> str:
    """The text of a command as it is stored.

    Raises:
        TeamError: it is empty or too large.
    """
    body = without_surrogates(clean(command.body)).strip()
    if command.kind == "submit" and not body:
        raise TeamError("the query is empty")
    if len(body.encode()) > LARGEST:
        raise TeamError(f"the query is larger than {LARGEST >> 10} KB: shorten it")
    return body


def read_command(kind: str, body: str, sent_by: str) -> Command | None:
    """Read a command that somebody sent; None if it is not one."""
    body = clean(body).strip()
    match kind:
        case "interrupt":
            return Command(kind="interrupt", sent_by=sent_by)
        case "submit" if body and len(body) <= LARGEST:
            return Command(kind="submit", body=body, sent_by=sent_by)
        case _:
            return None
