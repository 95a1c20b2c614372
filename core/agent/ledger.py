"""Calls with external side effects: each runs at most once, even if another program resumes the session after a crash.

A call that acts outside is recorded before it runs. A later attempt at the same session does not run an equal action
again: the model reads what became of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.bounds import LONGEST_TEXT
from ua_tui.core.agent.messages.results import texts_in
from ua_tui.core.agent.permissions.actions import TOOLS, Action, OfTool, actions_of
from ua_tui.core.agent.permissions.arguments import Arguments
from ua_tui.core.agent.permissions.policy import HARMLESS, PAGE_READERS, READERS, is_free
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import ASK_USER, EXIT_PLAN, READ_RESOURCE
from ua_tui.core.redaction.redactor import Redactor, preview
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import ACTIONS
from ua_tui.core.text import clean, clean_line

SUPERSEDED = "Another worker continues this session: nothing more may be done here."
"""Why nothing more runs in a session that another worker took over."""
_FOLDER = "{session folder}"
_NO_ACTION = frozenset(
    {
        *TOOLS["contained"],
        *HARMLESS,
        *PAGE_READERS,
        *READERS,
        *TOOLS["writers"],
        ASK_USER,
        EXIT_PLAN,
        "WebFetch",
    }
)


class EarlierAction(msgspec.Struct, frozen=True, kw_only=True):
    """What an earlier attempt at a session did; `running` is one of which only the beginning is known."""

    tool: str
    state: Literal["running", "done", "failed"]
    result: str = ""


class RecordedAction(msgspec.Struct, kw_only=True):
    """An action as the file `.actions.json` of a session's folder has it.

    `attempt` is that of a job; it is 0 for what the session of which this one is a fork did.
    """

    key: str
    attempt: int = 0
    tool: str
    state: Literal["running", "done", "failed"] = "running"
    result: str = ""


class LedgerRefusal(Exception):
    """An action could not be recorded, so it must not run; the message says why, for the model."""


class ActionLedger(Protocol):
    """Where the actions of a session are recorded. Belongs to one attempt at it."""

    async def earlier(self, keys: Sequence[str]) -> Sequence[EarlierAction]:
        """What became of these actions in earlier attempts; raises `LedgerRefusal` if that cannot be read."""
        ...

    async def begin(
        self, actions: Mapping[str, str], tool_use_id: str, stopping: Callable[[], bool]
    ) -> Sequence[EarlierAction]:
        """Record actions (key -> tool) that are about to run, and return an empty sequence.

        If an earlier attempt began any of them nothing is recorded, and those are returned. While the store cannot be
        reached it waits, for a limited time and until `stopping` returns True.

        Raises:
            LedgerRefusal: nothing could be recorded.
        """
        ...

    async def finish(self, tool_use_id: str, *, ok: bool, result: str) -> None:
        """Record how a call ended; never raises."""
        ...


def acting(
    tool_name: str, tool_input: Arguments, is_read_only: OfTool = lambda _server, _tool: False
) -> tuple[Action, ...]:
    """The actions of a call that may change something outside, or of which nothing else is known.

    `is_read_only` says whether the server of a tool declares that it only reads: (server, tool) -> bool.
    """
    return tuple(each for each in actions_of(tool_name, tool_input) if acts(each, is_read_only))


def acts(action: Action, is_read_only: OfTool) -> bool:
    """Whether an action may change something outside; `is_read_only` as for `acting`."""
    return (
        not is_free(action)
        and action.tool not in _NO_ACTION
        and action.name != READ_RESOURCE
        and not is_read_only(action.server, action.name)
    )


def key_of(action: Action, folder: Path | None = None) -> str:
    """The key by which equal actions are found: the hash of tool and arguments, whatever the order of their names.

    The folder of the session has another path after a takeover: it counts as the same.
    """
    text = json.dumps([action.tool, action.arguments], sort_keys=True, ensure_ascii=False, default=str)
    if folder is not None:
        text = text.replace(json.dumps(str(folder), ensure_ascii=False)[1:-1], _FOLDER)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def masked(action: Action, redactor: Redactor) -> Action:
    """An action without secrets, as it is recorded."""
    arguments = action.arguments
    return action if arguments is None else replace(action, arguments=redactor.redact_value(dict(arguments)))


def read_actions(root: Root) -> list[RecordedAction]:
    """Read the actions that are recorded in a session's folder.

    Raises:
        WorkspaceError: the file cannot be read, or is damaged.
    """
    if not root.exists(ACTIONS):
        return []
    try:
        return msgspec.json.decode(root.read(ACTIONS), type=list[RecordedAction])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"'{root.path / ACTIONS}' is damaged ({error}): nothing is resumed") from error


class ActionRecorder(msgspec.Struct, eq=False):
    """Records the calls of a session that act outside, and says why a call may not run, or must be asked about.

    Secrets are masked before anything is compared or stored: a resumed conversation has them masked, too. Without a
    `ledger` nothing is recorded. `folder` is that of the session; `is_read_only` as for `acting`.

    Raises:
        WorkspaceError: what is recorded in the folder cannot be read.
    """

    ledger: ActionLedger | None
    redactor: Redactor
    folder: Path
    is_read_only: OfTool
    _open: set[str] = set()
    _known: dict[str, RecordedAction] = {}

    def __post_init__(self) -> None:
        self.read()

    def read(self) -> None:
        """Read what was done before the session was forked or went back: an equal action asks, whatever the rules say.

        Raises:
            WorkspaceError: it cannot be read.
        """
        self._known = {each.key: each for each in read_actions(Root(self.folder)) if not each.attempt}

    def reason_to_ask(self, action: Action) -> str | None:
        """Why a person must be asked about an action; None if nobody must."""
        if not self._known or not acts(action, self.is_read_only):
            return None
        known = self._known.get(key_of(masked(action, self.redactor), self.folder))
        if known is None:
            return None
        how = {"done": "succeeded", "failed": "failed", "running": "may have succeeded"}[known.state]
        return f"this session, or the one it was forked from, did the same before, and it {how}"

    async def denial_of(self, tool_name: str, tool_input: Arguments) -> str | None:
        """Why a call may not run because of an earlier attempt; None if it may be asked about."""
        if self.ledger is None or not (actions := self._actions(tool_name, tool_input)):
            return None
        try:
            earlier = await self.ledger.earlier(list(actions))
        except LedgerRefusal:
            # It is recorded before it runs in any case.
            return None
        return _describe(earlier, len(actions)) if earlier else None

    async def begin(
        self, tool_name: str, tool_input: Arguments, tool_use_id: str, stopping: Callable[[], bool]
    ) -> str | None:
        """Record a call that is about to run; returns why it may not, None if it may."""
        if self.ledger is None or not (actions := self._actions(tool_name, tool_input)):
            return None
        try:
            earlier = await self.ledger.begin(actions, tool_use_id, stopping)
        except LedgerRefusal as refusal:
            return str(refusal)
        if earlier:
            return _describe(earlier, len(actions))
        self._open.add(tool_use_id)
        return None

    async def finish(self, tool_use_id: str, *, ok: bool, result: Any) -> None:
        """Record how a call ended, if it was recorded."""
        if self.ledger is None or tool_use_id not in self._open:
            return
        self._open.discard(tool_use_id)
        try:
            found = "\n".join(texts_in(result))
        except (ValueError, RecursionError):
            found = type(result).__name__
        text = clean(preview(found, LONGEST_TEXT, self.redactor))
        await self.ledger.finish(tool_use_id, ok=ok, result=text)

    def _actions(self, tool_name: str, tool_input: Arguments) -> dict[str, str]:
        masked = self.redactor.redact_value(dict(tool_input))
        return {
            key_of(action, self.folder): clean_line(action.tool, 200)
            for action in acting(tool_name, masked, self.is_read_only)
        }


def _describe(earlier: Sequence[EarlierAction], count: int) -> str:
    """What the model reads in place of the result of a call that may not run again."""
    found = [_describe_one(action) for action in earlier]
    more = (
        " Nothing in this call ran; call its other tools again without these." if count > len(earlier) else ""
    )
    return "\n".join(found) + more


def _describe_one(action: EarlierAction) -> str:
    tool = clean_line(action.tool, 200)
    if action.state == "running":
        return (
            f"{tool} was started with the same arguments by a worker that was lost; "
            "it is not known whether it succeeded. It is not run again: say so in the answer, and continue without it."
        )
    how = "and succeeded" if action.state == "done" else "and failed"
    result = action.result.strip() or "(no text)"
    return (
        f"{tool} ran with the same arguments before this session was resumed, {how}: it is not run again. "
        f"Its result was:\n{result}\n"
    )
