"""What panes request from their app: a file, its versions, a tool call, the end of a sub-agent."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class OpenFile(Message):
    """A file is to be shown, from a `line` on; `path` is absolute, or relative to the session's folder."""

    path: str
    line: int = 0


@dataclass
class CompareFile(Message):
    """A file is to be compared with another version of it; `path` as in `OpenFile`."""

    path: str


@dataclass
class ShowCall(Message):
    """A call of this session is to be shown, and to be found in the trace; `missing` is said if it is not there."""

    tool_use_id: str
    missing: str = ""


@dataclass
class StopSubagent(Message):
    """A sub-agent is to be stopped, by the call that started it."""

    tool_use_id: str
