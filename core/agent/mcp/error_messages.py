"""What errors of MCP servers mean and what to do, in the words of the Claude Code CLI or our own client.

The command line reports to nobody else why a connection failed: its own logs of the servers say it.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from ua_tui.core.agent.bounds import PIECE
from ua_tui.core.errors import advise, recognise
from ua_tui.core.json_values import text_in
from ua_tui.core.text import clean_line

# The command line answers such a request with "Method not found"; most servers do not even send it then.
_SAMPLING = r"sampling/createMessage|not support sampling|(?<!-32601): Method not found$"
# The command line refers to how it gets the header with the token; an empty one stands for no login.
_NO_LOGIN = (
    r"Server rejected the Authorization header minted by .*\(HTTP 401\)|rejected the credential from its headersHelper"
    r"|Failed to fetch tools: .*\binvalid_token\b"
)
_SCOPE = r'Insufficient scope: required "([\x21\x23-\x7e ]{1,500})"'
_TRANSPORT = r"(?i)\A(?:SSE|Streamable HTTP) error: "
_MAX_VALUE = 160


def describe_server_error(error: str) -> str:
    """Say why a server cannot be used and what to do; an unknown error is returned unchanged."""
    # Some begin with the name of the transport that failed.
    code, groups = recognise("mcp", re.sub(_TRANSPORT, "", error, count=1))
    if not code:
        return error
    facts = {
        name: clean_line(" ".join(text.split()), _MAX_VALUE)
        for name, text in {**groups, "error": error}.items()
    }
    return str(advise(code, **facts))


def describe_call_error(error: str, server: str) -> str:
    """Say why the call of a server's tool failed; an unknown error is returned unchanged."""
    if re.fullmatch(_SCOPE, error) is not None:
        return f"{login_needed(server, ' with more permissions').rstrip('.')} ({error})."
    if (found := re.match(r'MCP server "([^"]+)" ', error)) is not None and lacks_login(error):
        return login_needed(found[1])
    if len(error) < _MAX_VALUE * 2 and re.search(_SAMPLING, error.rstrip(". ")) is not None:
        return f"Sampling is refused: servers may not send requests to the model ({error})"
    return error


def lacks_login(error: str) -> bool:
    """Whether the error of a server says that it needs a login, or that the last one has expired."""
    return re.search(_NO_LOGIN, error) is not None


def missing_scope(error: str) -> str:
    """The scope that a login lacks for a call, as `describe_call_error` reports it; empty if that is not its error."""
    found = re.search(_SCOPE, error) if error.startswith("MCP server ") else None
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


# Where a call or a connection begins; what is logged before that is about an earlier one.
_CALL, _START = '"debug":"Calling MCP tool', '"debug":"Starting connection'
UNLISTED = "Failed to fetch tools: "
"""How the error of a server begins that is connected, but did not list its tools."""
_UNEXPLAINED = (
    UNLISTED,
    "Connection closed",
    "MCP error -32000: Connection closed",
    "Error POSTing to endpoint: ",
)
_FAILED = r"(?s)Connection failed(?: \((?P<status>\d{3})\): Error POSTing to endpoint(?P<rest>: .*))?"
_OUTPUT = "Server stderr: "
_ERROR_LINE = r"(?im)^[\w.]*(?:error|exception|fatal|panic)\b.*"


def cause_of(cache: Path, server: str, error: str) -> str | None:
    """The error of the last call or connection of a server, with what its log says of it; None if that is to come.

    The logs are in the cache of the command line; where a system keeps them elsewhere, nothing is found.

    The log says why the command line itself closed the connection, the status of an HTTP answer, or what a program
    wrote before it ended.
    """
    if not error.startswith(_UNEXPLAINED):
        return error
    folder = "mcp-logs-" + re.sub(r"[^A-Za-z0-9]", "-", server)
    try:
        newest = max(cache.glob(f"*/*/{folder}/*.jsonl"), key=lambda path: path.name)
        with newest.open("rb") as file:
            file.seek(max(0, newest.stat().st_size - PIECE))
            lines = file.read(PIECE).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return None
    failed = is_earlier = False
    for line in reversed(lines):
        if _CALL in line or (failed and _START in line):
            break
        entry = ""
        with suppress(ValueError):
            entry = text_in(json.loads(line), "error")
        if entry.startswith(UNLISTED):
            return entry
        if entry.startswith("wrote >") and " to stdout without" in entry:
            # The next connection may have begun since.
            return entry
        is_earlier = is_earlier or _START in line
        if is_earlier:
            continue
        if (found := re.match(_FAILED, entry)) is not None:
            if found["status"]:
                return f"Error POSTing to endpoint (HTTP {found['status']}){found['rest']}"
            failed = True
        elif failed and entry.startswith(_OUTPUT):
            return _OUTPUT + last_words(entry.removeprefix(_OUTPUT))
    return error if failed else None


def last_words(output: str) -> str:
    """The last line of a program's output that names an error; the last line of all without one."""
    lines = re.findall(_ERROR_LINE, output) or output.strip().splitlines()
    return str(lines[-1]) if lines else ""
