"""The advice table of MCP servers: the errors of their clients, and what each means and needs.

A pattern is matched against the text of the command line, or of our own client. Its row is a problem and a remedy;
`{0}` is the whole text and `{1}` the pattern's group.
"""

from __future__ import annotations

import re

from ua_tui.core.errors import Advice
from ua_tui.core.text import clean_line

_ADDRESS = "check its address"
_WEB_PAGE = Advice("it answers with a web page, so it is not an MCP server", _ADDRESS)
_NO_SERVER = Advice("it answers, but not as an MCP server does ({0})", _ADDRESS)
_UNKNOWN_HOST = Advice("its host name is unknown ({1})", f"{_ADDRESS} and the network")
_STATUS = Advice("it answers with HTTP {1}", _ADDRESS)
_BROKEN = Advice("it is out of order (HTTP {1})", "try again in a while")
_BUSY = Advice("it gets too many requests (HTTP 429)", "try again in a while")
_REFUSED = Advice(
    "it refused the key (HTTP {1})", "correct the key where it is set, and start the session again"
)
# The command line looks for a way to sign in when a server answers 401, and finds none.
_NO_SIGN_IN = Advice(
    "it refused the key, and has no other way to sign in", "correct the key where it is set ({0})"
)
_LATE = Advice(
    "it did not answer within {1}",
    "check that it is an MCP server and not busy; `ua-tui doctor` shows its output",
)

_ANSWERED = r"(?:Non-200 status code \(|Error POSTing to endpoint \(HTTP )"
_TABLE: tuple[tuple[str, Advice], ...] = (
    (r"Server rejected the configured \S+ header \(HTTP (\d+)\)", _REFUSED),
    (
        r"Server rejected the Authorization header minted by .*\(HTTP (\d+)\)",
        Advice("it refused access (HTTP {1})", "check its key, and that your account may use it"),
    ),
    (r"Dynamic Client Registration", _NO_SIGN_IN),
    (r"(?:Unexpected|Invalid) content type: text/html", _WEB_PAGE),
    (r"(?:Unexpected|Invalid) content type", _NO_SERVER),
    (r"(ECONNREFUSED)", Advice("it cannot be reached ({1})", f"check that it runs, and {_ADDRESS}")),
    (r"(?:\[Errno -?\d+\] )?(ENOTFOUND|EAI_AGAIN|getaddrinfo|DNS|Name or service not known)", _UNKNOWN_HOST),
    (
        r"(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ECONNRESET)",
        Advice("it cannot be reached ({1})", "check the network"),
    ),
    (
        r"(EPROTO|\[SSL: WRONG_VERSION_NUMBER\])",
        Advice("it does not speak TLS ({1})", f"{_ADDRESS} (http:// for a server without TLS)"),
    ),
    (
        r"(?:Server's protocol version is not supported|Unsupported protocol version from the server): (.*)",
        Advice("it speaks the version {1} of MCP, which the agent does not know", "update the server"),
    ),
    (r"MCP endpoint not found at", _STATUS.format("{0}", "404")),
    (
        r'(?:JSON Parse error|Failed to parse JSON|\[\s*\{\s*"code": "invalid_)',
        _NO_SERVER.format("its answer is not a message of MCP"),
    ),
    (r"MCP server .*connection timed out after 30000 ?ms", _LATE.format("{0}", "30 s")),
    (r"MCP server .*connection timed out after (\d+ ?ms)", _LATE),
    (
        r"(?:MCP error -32000: )?Connection closed$",
        Advice("it ended, or closed the connection", "`ua-tui doctor` shows its output"),
    ),
    (
        r"Server stderr: (.+)",
        Advice("it ended ({1})", "repair it, or correct how it is started; `ua-tui doctor` tests it"),
    ),
    (
        r"wrote >(\d+) ?MB to stdout without",
        Advice(
            "it sent more than {1} MB in one message, so the agent closed the connection",
            "ask it for less data at once, or have it write the data to a file",
        ),
    ),
    (rf"{_ANSWERED}(40[13])\)", _REFUSED),
    (rf"{_ANSWERED}429\)", _BUSY),
    (rf"{_ANSWERED}(5\d\d)\)", _BROKEN),
    (rf"{_ANSWERED}(\d+)\)", _STATUS),
    (r"Error POSTing to endpoint: \s*<(?:!doctype|html|head)", _WEB_PAGE),
    (
        r"Error POSTing to endpoint: (.*)",
        Advice("it answers with an error ({1})", f"{_ADDRESS}, or examine the server"),
    ),
    (r"(\w*Error) dialing ", Advice("its address cannot be used ({1})", _ADDRESS)),
    # The last one, as it matches this word anywhere.
    (
        r"(?:\[SSL: CERT\w+\] certificate verify failed: )?(.*\bcertificate\b[^(]*|.*\b(?:CERT|SSL)_.*)",
        Advice(
            "its certificate is not accepted ({1})",
            "renew it, or set SSL_CERT_FILE and NODE_EXTRA_CA_CERTS to the file of the authority that signed it",
        ),
    ),
)
_ROWS = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), advice) for pattern, advice in _TABLE)
# The command line answers such a request with "Method not found"; most servers do not even send it then.
_SAMPLING = re.compile(r"sampling/createMessage|not support sampling|(?<!-32601): Method not found$")
# The command line refers to how it gets the header with the token; an empty one stands for no login.
_NO_LOGIN = re.compile(
    r"Server rejected the Authorization header minted by .*\(HTTP 401\)|rejected the credential from its headersHelper"
)
_TRANSPORT = re.compile(r"(?:SSE|Streamable HTTP) error: ", re.IGNORECASE)
_MAX_VALUE = 160


def describe_server_error(error: str) -> str:
    """Say why a server cannot be used and what to do; an unknown error is returned unchanged."""
    # Some begin with the name of the transport that failed.
    start = prefix.end() if (prefix := _TRANSPORT.match(error)) is not None else 0
    for pattern, advice in _ROWS:
        if (found := pattern.match(error, start)) is not None:
            values = (error, *(group or "" for group in found.groups()))
            return str(advice.format(*(clean_line(" ".join(value.split()), _MAX_VALUE) for value in values)))
    return error


def describe_call_error(error: str) -> str:
    """Say why the call of a server's tool failed; an unknown error is returned unchanged."""
    if (found := re.match(r'MCP server "([^"]+)" ', error)) is not None and lacks_login(error):
        return login_needed(found[1])
    if len(error) < _MAX_VALUE * 2 and _SAMPLING.search(error.rstrip(". ")) is not None:
        return f"Sampling is refused: no server may ask the model itself ({error})"
    return error


def lacks_login(error: str) -> bool:
    """Whether the error of a server says that it needs a login, or that the last one has expired."""
    return _NO_LOGIN.search(error) is not None


def login_needed(name: str) -> str:
    """Say what to do about a server that needs a login."""
    shown = clean_line(name, 60)
    return f"MCP server {shown} needs a login: run `ua-tui connect {shown}`, or press l in /connections."


def problem_in(message: str) -> str:
    """The problem alone, of a message that `describe_server_error` returned."""
    return message.rpartition(": ")[0] or message if message.startswith(("it ", "its ")) else message
