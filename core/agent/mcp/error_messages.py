"""What the errors of MCP servers mean and need, as the command line or our own client words them."""

from __future__ import annotations

import re

from ua_tui.core.errors import advise, recognise
from ua_tui.core.text import clean_line

# The command line answers such a request with "Method not found"; most servers do not even send it then.
_SAMPLING = re.compile(r"sampling/createMessage|not support sampling|(?<!-32601): Method not found$")
# The command line refers to how it gets the header with the token; an empty one stands for no login.
_NO_LOGIN = re.compile(
    r"Server rejected the Authorization header minted by .*\(HTTP 401\)|rejected the credential from its headersHelper"
    r"|Failed to fetch tools: .*\binvalid_token\b"
)
_SCOPE = re.compile(r'Insufficient scope: required "([\x21\x23-\x7e ]{1,500})"')
_TRANSPORT = re.compile(r"\A(?:SSE|Streamable HTTP) error: ", re.IGNORECASE)
_MAX_VALUE = 160


def describe_server_error(error: str) -> str:
    """Say why a server cannot be used and what to do; an unknown error is returned unchanged."""
    # Some begin with the name of the transport that failed.
    code, groups = recognise("mcp", _TRANSPORT.sub("", error, count=1))
    if not code:
        return error
    facts = {
        name: clean_line(" ".join(text.split()), _MAX_VALUE)
        for name, text in {**groups, "error": error}.items()
    }
    return str(advise(code, **facts))


def describe_call_error(error: str, server: str) -> str:
    """Say why the call of a server's tool failed; an unknown error is returned unchanged."""
    if _SCOPE.fullmatch(error) is not None:
        return f"{login_needed(server, ' with more permissions').rstrip('.')} ({error})."
    if (found := re.match(r'MCP server "([^"]+)" ', error)) is not None and lacks_login(error):
        return login_needed(found[1])
    if len(error) < _MAX_VALUE * 2 and _SAMPLING.search(error.rstrip(". ")) is not None:
        return f"Sampling is refused: no server may ask the model itself ({error})"
    return error


def lacks_login(error: str) -> bool:
    """Whether the error of a server says that it needs a login, or that the last one has expired."""
    return _NO_LOGIN.search(error) is not None


def missing_scope(error: str) -> str:
    """The scope that a login lacks for a call, as `describe_call_error` reports it; empty if that is not its error."""
    found = _SCOPE.search(error) if error.startswith("MCP server ") else None
    return found[1] if found is not None else ""


def login_needed(name: str, what: str = "") -> str:
    """Say what to do about a server that needs a login."""
    shown = clean_line(name, 60)
    return (
        f"MCP server {shown} needs a login{what}: run `ua-tui connect {shown}`, or press l in /connections."
    )


def problem_in(message: str) -> str:
    """The problem alone, of a message that `describe_server_error` returned."""
    return message.rpartition(": ")[0] or message if message.startswith(("it ", "its ")) else message
