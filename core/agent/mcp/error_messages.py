"""What the command line says of an MCP server that failed, in words of ours: what happened, and what to do."""

from __future__ import annotations

import re

__all__ = ["describe_server_error"]

_ADDRESS = "check its address"
_WEB_PAGE = f"it answers with a web page, so it is no MCP server: {_ADDRESS}"
_NO_SERVER = f"it answers, but not as an MCP server does ({{0}}): {_ADDRESS}"
_AWAY = "it cannot be reached ({1}): see that it runs, and check its address"
_UNKNOWN_HOST = f"the name of its host is not known ({{1}}): {_ADDRESS} and the network"
_NETWORK = "it cannot be reached ({1}): check the network"
_LATE = "it did not answer within {1}: see that it is an MCP server and not busy; `ua-tui doctor` shows what it says"
_ENDED = "it ended, or closed the connection: `ua-tui doctor` shows what it says"
_STATUS = f"it answers with HTTP {{1}}: {_ADDRESS}"
_BROKEN = "it is out of order (HTTP {1}): try again in a while"
_REFUSED = "it refused the key (HTTP {1}): correct it where it is set, and start the session again"
# What the command line says when a server answers 401: it looks for a way to sign in, and finds none.
_NO_SIGN_IN = "it refused the key, and has no other way to sign in: correct the key where it is set ({0})"
_UNUSABLE = f"its address cannot be used ({{1}}): {_ADDRESS}"
_COMPLAINS = f"it answers with an error ({{1}}): {_ADDRESS}, or see to the server"

_TRANSPORT = re.compile(r"(?:SSE|Streamable HTTP) error: ", re.IGNORECASE)
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), words)
    for pattern, words in (
        (r"Server rejected the configured \S+ header \(HTTP (\d+)\)", _REFUSED),
        (r"Dynamic Client Registration", _NO_SIGN_IN),
        (r"(?:Unexpected|Invalid) content type: text/html", _WEB_PAGE),
        (r"(?:Unexpected|Invalid) content type", _NO_SERVER),
        (r"(ECONNREFUSED)", _AWAY),
        (r"(ENOTFOUND|EAI_AGAIN|getaddrinfo|DNS)", _UNKNOWN_HOST),
        (r"(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ECONNRESET)", _NETWORK),
        (r"MCP server .*connection timed out after 30000 ?ms", _LATE.replace("{1}", "30 s")),
        (r"MCP server .*connection timed out after (\d+ ?ms)", _LATE),
        (r"(?:MCP error -32000: )?Connection closed$", _ENDED),
        (r"Non-200 status code \((40[13])\)", _REFUSED),
        (r"Non-200 status code \((5\d\d)\)", _BROKEN),
        (r"Non-200 status code \((\d+)\)", _STATUS),
        (r"Error POSTing to endpoint \(HTTP (5\d\d)\)", _BROKEN),
        (r"Error POSTing to endpoint \(HTTP (\d+)\)", _STATUS),
        (r"Error POSTing to endpoint: \s*<(?:!doctype|html|head)", _WEB_PAGE),
        (r"Error POSTing to endpoint: (.*)", _COMPLAINS),
        (r"(\w*Error) dialing ", _UNUSABLE),
    )
)
_LONGEST = 160


def describe_server_error(error: str) -> str:
    """Say why a server cannot be used; what is not known is given as it came."""
    # Some begin with the name of the transport that failed.
    begun = named.end() if (named := _TRANSPORT.match(error)) is not None else 0
    for pattern, words in _WORDS:
        if (found := pattern.match(error, begun)) is not None:
            told = (error, *(group or "" for group in found.groups()))
            return words.format(*(" ".join(each.split())[:_LONGEST] for each in told))
    return error
