"""What can go wrong with the model's service, for retries, failed queries and checks."""

from __future__ import annotations

from collections.abc import Sequence

from ua_tui.core.errors import Advice, advise

SERVICE = "the model's service"
CONNECTION_CLOSED = "connection_closed"
"""Why a request is repeated whose answer broke off."""
NO_CONNECTION, NOT_LISTENING = "no connection to ", "nothing is listening at "
"""How the reason of a retry begins if nothing has answered, or the connection was refused; an address follows."""
LOCAL_RETRIES = 3
"""How often a program of this machine is asked again that nothing runs of, which takes some five seconds."""
CONNECTION_BROKE = "The connection broke after "
"""How the reason of a failure begins that is a full sentence: the connection broke during the answer."""
FINAL_CODES = frozenset({"authentication_failed", "billing_error"})
"""Errors that trying again cannot cure: the request is not repeated."""


def model_advice(
    code: str,
    server: str = SERVICE,
    *,
    status: str = "",
    detail: str = "",
    model: str = "",
    models: Sequence[str] = (),
) -> Advice:
    """Return what is wrong with `server`, and what to do about it.

    `status` is a short note on its answer, such as the HTTP status, `detail` is its own message, `model` the model that
    was asked for, and `models` those that it knows.
    """
    return advise(
        code,
        server=server,
        status=f" ({status})" if status else "",
        detail=f": {detail.removesuffix('.')}" if detail else "",
        model=f" {model}" if model else "",
        models=f": {', '.join(models)}" if models else "",
    )
