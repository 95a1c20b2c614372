"""The advice table of the model's service: what can go wrong with it, and what to do about each.

The probe finds a problem by asking the service once, the agent names one in a text of its own. Both are mapped to a
`ModelProblem`, whose words are stated once, in `_TABLE`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from core.errors import Advice

__all__ = ["AT_LIMIT", "REFUSALS", "ModelProblem", "advice_for", "describe_failure"]

ModelProblem = Literal[
    "nothing_set",
    "malformed",
    "refused",
    "key_missing",
    "forbidden",
    "no_credit",
    "limited",
    "unknown_model",
    "rejected",
    "not_an_api",
    "overloaded",
    "server_error",
    "not_listening",
    "unreachable",
    "no_host",
    "tls",
    "timeout",
]


@dataclass(frozen=True, slots=True)
class _Row:
    """A problem and its remedy; `change` says where a person in a session changes what is wrong."""

    problem: str
    remedy: str
    change: str = ""


_KEY = "ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, or /setup on the screen"
_ADDRESS = "ANTHROPIC_BASE_URL"
_REACHABLE = "check that the server runs, that the address and its port are right, and the network"

_TABLE: Mapping[ModelProblem, _Row] = {
    "nothing_set": _Row(
        "no API key, token, login or server is configured",
        "set an API key, or the address of a server",
        "ANTHROPIC_API_KEY, or /setup on the screen",
    ),
    "malformed": _Row(
        "the key or the address cannot be sent to {server}{detail}",
        "copy it again: a key is one line of letters, digits and punctuation",
        _KEY,
    ),
    "refused": _Row(
        "{server} refused the key{status}{detail}",
        "copy the key again, and check that it is complete, still valid and issued by this server",
        _KEY,
    ),
    "key_missing": _Row(
        "{server} requires a key{status}{detail}", "enter the token that this server requires", _KEY
    ),
    "forbidden": _Row(
        "{server} does not allow this with these credentials{status}{detail}",
        "check in your account what they may do, and from which countries they may be used",
    ),
    "no_credit": _Row(
        "{server} refused the request because the account has no credit{status}{detail}",
        "add credit to the account, or use the key of another one",
    ),
    "limited": _Row(
        "{server} accepts no more requests for now{status}{detail}",
        "wait a while, or check the limits of your account",
    ),
    "unknown_model": _Row(
        "{server} does not know the model{model}, or the key may not use it{status}{detail}",
        "use a model that it knows{models}",
        "--model, or /model on the screen; `ua-tui doctor` lists those that the server reports",
    ),
    "rejected": _Row(
        "{server} rejected the request{status}{detail}",
        "read the server's message, and check the name of the model first",
        "`ua-tui doctor` tries the model with a small request",
    ),
    "not_an_api": _Row(
        "{server} does not answer like a server of the Messages API{status}{detail}",
        "check the address: it is the part before /v1/messages, of a server that supports the Anthropic Messages "
        "API; some need a path of their own or a newer version, and a proxy or a login page may answer instead",
        _ADDRESS,
    ),
    "overloaded": _Row("{server} is overloaded{status}{detail}", "try again in a minute"),
    "server_error": _Row("{server} is out of order{status}{detail}", "try again in a minute"),
    "not_listening": _Row("nothing is listening at {server} (connection refused)", _REACHABLE, _ADDRESS),
    "unreachable": _Row("{server} cannot be reached{status}{detail}", _REACHABLE, _ADDRESS),
    "no_host": _Row(
        "the host name of {server} cannot be resolved{detail}",
        "check the spelling of the address, and the network",
    ),
    "tls": _Row(
        "no secure connection to {server} can be made{detail}",
        "for a server of your own, try http:// instead; behind a proxy with its own certificate, set SSL_CERT_FILE "
        "to it; check that the clock of this machine is right",
    ),
    "timeout": _Row(
        "{server} did not answer{status}",
        "try again, as a large local model may still be loading; otherwise check the address and the network",
    ),
}

_SERVICE = "the model's service"


def advice_for(
    problem: ModelProblem,
    server: str = _SERVICE,
    *,
    status: str = "",
    detail: str = "",
    model: str = "",
    models: tuple[str, ...] = (),
) -> Advice:
    """What is wrong with `server`, and what to do about it.

    `status` is a short note on its answer, such as the HTTP status, and `detail` is its own message. `model` is the
    model that was asked for, `models` are those that the server knows.
    """
    row = _TABLE[problem]
    return Advice(row.problem, row.remedy).format(
        server=server,
        status=f" ({status})" if status else "",
        detail=f": {detail}" if detail else "",
        model=f" {model}" if model else "",
        models=f": {', '.join(models)}" if models else "",
    )


def _session_message(problem: ModelProblem, *, status: str = "", model: str = "") -> str:
    """What is wrong with the model's service, what to do, and where to change it during a session."""
    change = _TABLE[problem].change
    message = str(advice_for(problem, status=status, model=model))
    return f"{message} ({change})" if change else message


AT_LIMIT = (
    "the agent stopped at the spending limit: raise max_cost_usd (--max-cost, or /budget on the screen)"
)

REFUSALS: Mapping[str, str] = {
    "authentication_failed": _session_message("refused"),
    "billing_error": _session_message("no_credit"),
}
"""The agent's codes for errors that trying again cannot cure, and the message with which the query is stopped."""

_NETWORK_CODE = re.compile(r"\b(E[A-Z_]{4,})\b")
_MAX_STATUS = 200

_PATTERNS: tuple[tuple[str, ModelProblem], ...] = (
    (r"API Error: API returned an empty or malformed response .*is (?P<status>an HTML page)", "not_an_api"),
    (r"API Error: API returned an empty or malformed response \((?P<status>HTTP \d+)\)", "not_an_api"),
    (r"There's an issue with the selected model \((?P<model>.*?)\)\.", "unknown_model"),
    (r"Failed to authenticate\. API Error: (?P<status>403.*)", "forbidden"),
    (r"API Error: Request rejected \((?P<status>429)\)(?: · (?P<more>.*))?", "limited"),
    (r"API Error: (?P<status>402.*)", "no_credit"),
    (r"API Error: (?P<status>(?:Repeated )?529.*)", "overloaded"),
    (r"API Error: (?P<status>5\d\d.*)", "server_error"),
    (r"API Error: (?P<status>4\d\d.*)", "rejected"),
    (
        r"API Error: (?:Connection refused|Unable to connect|Connection error|Request timed out|.*\b"
        r"(?:ECONN\w+|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)\b)",
        "unreachable",
    ),
    (r"Not logged in\b", "nothing_set"),
)
"""The texts with which the agent ends a query when the service fails it."""

_FAILURES = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), problem) for pattern, problem in _PATTERNS)


def describe_failure(text: str) -> str:
    """Say why a query failed and what to do, given the agent's text; an unknown text is returned unchanged."""
    for pattern, problem in _FAILURES:
        if (found := pattern.match(text)) is not None:
            groups = {name: " ".join((group or "").split()) for name, group in found.groupdict().items()}
            status = f"{groups.get('status', '')} {groups.get('more', '')}".strip()[:_MAX_STATUS]
            if problem == "unreachable" and (code := _NETWORK_CODE.search(text)) is not None:
                status = code[1]
            return _session_message(problem, status=status, model=groups.get("model", "")[:_MAX_STATUS])
    return text
