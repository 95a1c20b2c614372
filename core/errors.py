"""Every error a user can meet, as one family.

    UniversalAgentError
    ├── SettingsError        a setting, option or settings file is wrong
    ├── CredentialsError     no way to reach a model is configured
    ├── WorkspaceError       a session folder cannot be made, read or written
    │   └── PathRefused      a path leaves its root or names something protected
    ├── JournalError         a journal cannot be read or appended to
    ├── KnowledgeError       the knowledge base cannot be opened, read or written
    ├── AgentError           the agent could not carry a query to its end
    │   ├── AgentUnavailable the command-line agent is missing, died or never answered
    │   ├── ConversationGone a session cannot be resumed where it left off
    │   └── Denied           a handler of a pipeline denied a query or a call
    ├── ConnectionFailed     a remote service refused or could not be reached
    ├── TeamError            a team's database cannot be reached, read or written
    ├── FetchRefused         a URL may not be fetched
    ├── ObserverError        a tool result could not be observed
    ├── PipelineError        a pipeline handler broke its contract
    ├── PluginError          a plug-in of another package cannot be loaded
    └── DemoError            the demo's servers could not be started

The message of each says what failed, on what, and what to do about it. `Advice` holds those two halves. What services,
servers and files can do wrong is in one catalogue, `advice.toml`: `advise` fills an entry, and `advice_code` and
`recognise` find the entry of an error by its code or by its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import NamedTuple

import msgspec

from ua_tui.core.json_values import table_of
from ua_tui.core.text import as_sentence

EXTRAS = {
    "composio": "composio",
    "documents": "docx",
    "keyring": "keyring",
    "logfire": "logfire",
    "serve": "textual_serve",
    "team": "psycopg",
}
"""The extras of the program, each with a package that it installs."""
_STANDARD = frozenset({"composio", "keyring", "logfire", "serve"})


class Advice(NamedTuple):
    """What went wrong, and what to do about it: two clauses without a full stop, and the entry of the catalogue."""

    problem: str
    remedy: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.problem}: {self.remedy}" if self.remedy else self.problem

    @property
    def sentence(self) -> str:
        """The advice with a capital letter and a full stop."""
        return as_sentence(str(self))


class AdviceEntry(msgspec.Struct, frozen=True):
    """An entry of the catalogue, with placeholders as `str.format` knows them; the file describes the fields."""

    problem: str
    remedy: str = ""
    where: str = ""
    codes: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    temporary: bool = False


@cache
def advice_catalogue() -> Mapping[str, AdviceEntry]:
    """Every entry, by its source and name, such as `model.timeout`."""
    sources = table_of(__file__, "advice.toml", dict[str, dict[str, AdviceEntry]])
    return {
        f"{source}.{name}": entry for source, entries in sources.items() for name, entry in entries.items()
    }


def advise(code: str, **facts: object) -> Advice:
    """Return the advice of an entry, its placeholders filled with facts."""
    entry = advice_catalogue()[code]
    return Advice(entry.problem.format(**facts), entry.remedy.format(**facts), code)


def missing_extra(extra: str, what: str) -> Advice:
    """Return the advice to install an extra that `what` needs; its command keeps the extras that are installed."""
    # `uv tool install` replaces the installation: what its command does not name is removed.
    kept = {name for name, package in EXTRAS.items() if find_spec(package) is not None} | {extra}
    if kept >= _STANDARD:
        kept = kept - _STANDARD | {"standard"}
    names = ",".join(sorted(kept, key=lambda name: (name != "standard", name)))
    return advise("extra.missing", extra=extra, extras=names, what=what)


def advice_code(source: str, code: str) -> str:
    """Return the entry for an error's code, such as a status, SQLSTATE or the name of an `errno`; empty if unknown."""
    known = _codes(source)
    return known.get(max(filter(code.startswith, known), key=len, default=""), "")


def recognise(source: str, text: str) -> tuple[str, dict[str, str]]:
    """Return the entry whose pattern matches the beginning of a text, and the pattern's groups; empty if unknown."""
    for pattern, code in _patterns(source):
        if (found := pattern.match(text)) is not None:
            return code, {name: group or "" for name, group in found.groupdict().items()}
    return "", {}


@cache
def _codes(source: str) -> dict[str, str]:
    return {sign: code for code, entry in _entries(source) for sign in entry.codes}


@cache
def _patterns(source: str) -> list[tuple[re.Pattern[str], str]]:
    flags = re.IGNORECASE | re.DOTALL
    return [(re.compile(each, flags), code) for code, entry in _entries(source) for each in entry.patterns]


def _entries(source: str) -> list[tuple[str, AdviceEntry]]:
    return [(code, entry) for code, entry in advice_catalogue().items() if code.startswith(f"{source}.")]


class UniversalAgentError(Exception):
    """The root of the family: catch it to catch every error that is meant for a person.

    `advice` is the message, with the remedy apart from the problem if the error is in the catalogue.
    """

    def __init__(self, message: str | Advice = "") -> None:
        super().__init__(str(message))
        self.advice = Advice(message) if isinstance(message, str) else message


class SettingsError(UniversalAgentError):
    """A setting, option or settings file is wrong."""


class FormError(UniversalAgentError):
    """The form of an MCP server cannot be shown, or a value does not fit its field."""


class CredentialsError(UniversalAgentError):
    """No way to reach a model is configured; the catalogue of advice has the message."""

    def __init__(self) -> None:
        super().__init__(advise("model.nothing_set"))


class WorkspaceError(UniversalAgentError):
    """A session folder cannot be made, read or written."""


class PathRefused(WorkspaceError):
    """A path leaves its root, follows a link or names something protected."""


class JournalError(UniversalAgentError):
    """A journal cannot be read or appended to."""


class KnowledgeError(UniversalAgentError):
    """The knowledge base cannot be opened, read or written."""


class KnowledgeEmptied(KnowledgeError):
    """The file was damaged, or of an earlier version: what opens it again has an empty one, which is to be filled."""


class AgentError(UniversalAgentError):
    """The agent could not carry a query to its end."""


class AgentUnavailable(AgentError):
    """The command-line agent is missing, died or never answered."""


class ConversationGone(AgentError):
    """The agent no longer knows the conversation of a session; a new one can begin in its folder."""


class Denied(AgentError):
    """A handler denied a query or a tool call before it ran; the message is the reason."""


class ConnectionFailed(UniversalAgentError):
    """A remote service refused or could not be reached.

    `code` is for programs: `unreachable`, `timeout`, `robots`, `http_NNN` for a status, or `failed`. `reason` has the
    values that it has in `FetchRefused`.
    """

    def __init__(self, message: str | Advice = "", *, code: str = "failed", reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class TeamError(UniversalAgentError):
    """A team's database, or a batch, cannot be used."""


class FetchRefused(UniversalAgentError):
    """A URL may not be fetched.

    `code` is for programs: `refused`, `robots`, `too_large` or `not_readable`. `reason` is a word for what keeps
    the text of a page from being read, such as `login`; empty if unknown.
    """

    def __init__(self, message: str = "", *, code: str = "refused", reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


class TooLarge(UniversalAgentError):
    """A file of the remote sandbox is larger than allowed; `size` in bytes, if known."""

    def __init__(self, size: int | None) -> None:
        super().__init__("the file is too large")
        self.size = size


class ObserverError(UniversalAgentError):
    """A tool result could not be observed."""


class PluginError(UniversalAgentError):
    """A plug-in of another package cannot be loaded."""


class PipelineError(UniversalAgentError):
    """A pipeline handler broke its contract."""


class DemoError(UniversalAgentError):
    """The demo's servers could not be started."""


def causes_of(error: BaseException) -> list[str]:
    """Name each exception behind `error`, nearest first, as `Type: message`."""
    return [f"{type(each).__name__}: {each}" for each in islice(chain_of(error), 1, 9)]


def chain_of(error: BaseException, *, hidden: bool = False) -> Iterator[BaseException]:
    """An exception, those of its group, and those behind it, also `hidden` ones, which `from None` leaves out."""
    yield error
    for each in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from chain_of(each, hidden=hidden)
    cause = error.__cause__ or (None if error.__suppress_context__ and not hidden else error.__context__)
    if cause is not None:
        yield from chain_of(cause, hidden=hidden)
