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

The message of each says what failed, on what, and what to do about it. `Advice` holds those two halves; each service
has one table of them, and whoever shows an error takes its text from there.
"""

from __future__ import annotations

from typing import NamedTuple


class Advice(NamedTuple):
    """What went wrong, and what to do about it: two clauses without a full stop.

    An entry of a table may have placeholders as `str.format` knows them; `format` fills them.
    """

    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.problem}: {self.remedy}" if self.remedy else self.problem

    @property
    def sentence(self) -> str:
        """The advice with a capital letter and a full stop."""
        text = str(self)
        return f"{text[:1].upper()}{text[1:]}."

    def format(self, *values: object, **named: object) -> Advice:
        """Fill the placeholders of both clauses."""
        return Advice(self.problem.format(*values, **named), self.remedy.format(*values, **named))


class UniversalAgentError(Exception):
    """The root of the family: catch it to catch every error that is meant for a person."""


class SettingsError(UniversalAgentError):
    """A setting, option or settings file is wrong."""


class FormError(UniversalAgentError):
    """The form of an MCP server cannot be shown, or a value does not fit its field."""


class CredentialsError(UniversalAgentError):
    """No way to reach a model is configured."""


class WorkspaceError(UniversalAgentError):
    """A session folder cannot be made, read or written."""


class PathRefused(WorkspaceError):
    """A path leaves its root, follows a link or names something protected."""


class JournalError(UniversalAgentError):
    """A journal cannot be read or appended to."""


class KnowledgeError(UniversalAgentError):
    """The knowledge base cannot be opened, read or written."""


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

    `code` is for programs: `unreachable`, `timeout`, `robots`, `http_NNN` for a status, or `failed`. `advice` is the
    message, with the remedy apart from the problem where the service's table of advice has one. `reason` has the
    values that it has in `FetchRefused`.
    """

    def __init__(self, message: str | Advice = "", *, code: str = "failed", reason: str = "") -> None:
        super().__init__(str(message))
        self.advice = Advice(message) if isinstance(message, str) else message
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
    found: list[str] = []
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while cause is not None and len(found) < 8:
        found.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return found
