"""What can go wrong with the model's service, in a clause each: for retries, failed queries and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

ModelProblem = Literal[
    "nothing_set", "malformed", "refused", "key_missing", "forbidden", "no_credit", "limited", "unknown_model",
    "rejected", "not_an_api", "overloaded", "server_error", "not_listening", "unreachable", "no_host", "tls", "timeout",
    "cut_off",
]  # fmt: skip

SERVICE = "the model's service"
CONNECTION_CLOSED = "connection_closed"
"""Why a request is repeated whose answer broke off."""
CONNECTION_BROKE = "The connection broke after "
"""How the reason of a failure begins that is a full sentence: the connection broke during the answer."""

_CLAUSES: Mapping[ModelProblem, str] = {
    "nothing_set": "no API key, token, login or server is configured",
    "malformed": "the key or the address cannot be sent to {server}{detail}",
    "refused": "{server} refused the key{status}{detail}",
    "key_missing": "{server} requires a key{status}{detail}",
    "forbidden": "{server} does not allow this with these credentials{status}{detail}",
    "no_credit": "{server} refused the request because the account has no credit{status}{detail}",
    "limited": "{server} accepts no more requests for now{status}{detail}",
    "unknown_model": "{server} does not know the model{model}, or the key may not use it{status}{detail}",
    "rejected": "{server} rejected the request{status}{detail}",
    "not_an_api": "{server} does not answer like a server of the Messages API{status}{detail}",
    "overloaded": "{server} is overloaded{status}{detail}",
    "server_error": "{server} is out of order{status}{detail}",
    "not_listening": "nothing is listening at {server} (connection refused)",
    "unreachable": "{server} cannot be reached{status}{detail}",
    "no_host": "the host name of {server} cannot be resolved{detail}",
    "tls": "no secure connection to {server} can be made{detail}",
    "timeout": "{server} did not answer{status}",
    "cut_off": "{server} did not complete its answer: the connection was closed{status}",
}

AGENT_CODES: Mapping[str, ModelProblem] = {
    "authentication_failed": "refused",
    "oauth_org_not_allowed": "forbidden",
    "billing_error": "no_credit",
    "rate_limit": "limited",
    "429": "limited",
    "overloaded": "overloaded",
    "529": "overloaded",
    "server_error": "server_error",
    "invalid_request": "rejected",
    "model_not_found": "unknown_model",
    CONNECTION_CLOSED: "cut_off",
    "": "timeout",
    "unknown": "timeout",
}
"""The names that the agent gives to errors of the service."""

FINAL_CODES = frozenset({"authentication_failed", "billing_error"})
"""Errors that trying again cannot cure: the request is not repeated."""


def describe_problem(
    problem: ModelProblem,
    server: str = SERVICE,
    *,
    status: str = "",
    detail: str = "",
    model: str = "",
) -> str:
    """Describe a problem of `server` in a clause.

    `status` is a short note on its answer, such as the HTTP status, `detail` is its own message, and `model` the model
    that was asked for.
    """
    return _CLAUSES[problem].format(
        server=server,
        status=f" ({status})" if status else "",
        detail=f": {detail}" if detail else "",
        model=f" {model}" if model else "",
    )
