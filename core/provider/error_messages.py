"""Explains to a person why the model's service failed a query, from the text with which the agent ends it."""

from __future__ import annotations

import re

from ua_tui.core.errors import advice_catalogue, advice_code, recognise
from ua_tui.core.events.model_problems import (
    CONNECTION_BROKE,
    FINAL_CODES,
    NOT_LISTENING,
    SERVICE,
    model_advice,
)
from ua_tui.core.events.types import ApiRetry
from ua_tui.core.events.units import spoken_duration
from ua_tui.core.provider.request import DEFAULT_URL
from ua_tui.core.text import clean_line


def _session_message(code: str, **facts: str) -> str:
    """What is wrong with the model's service, what to do, and where to change it during a session."""
    where = advice_catalogue()[code].where
    message = str(model_advice(code, **facts))
    return f"{message} ({where})" if where else message


AT_LIMIT = (
    "the agent stopped at the spending limit: raise max_cost_usd (--max-cost, or /budget on the screen)"
)

_NETWORK_CODE = re.compile(r"\b(E[A-Z_]{4,})\b")
_MAX_STATUS = 200
_OF_ADDRESS = frozenset({"model.not_listening", "model.no_host", "model.tls"})


def refusal(retry: ApiRetry) -> str:
    """Return the message with which a query is stopped instead of trying again, or an empty text."""
    if retry.error in FINAL_CODES:
        return _session_message(advice_code("model", retry.error), detail=retry.detail)
    if retry.attempt > retry.max_attempts and retry.error.startswith(NOT_LISTENING):
        return _session_message("model.not_listening", server=retry.error.removeprefix(NOT_LISTENING))
    return ""


def describe_failure(text: str, address: str = DEFAULT_URL) -> str:
    """Say why a query failed and what to do, given the agent's text; an unknown text is returned unchanged.

    `address` is where the model's service is, without a password.
    """
    code, found = recognise("model", text)
    if not code:
        return text
    groups = {name: " ".join(group.split()) for name, group in found.items()}
    status = f"{groups.get('status', '')} {groups.get('more', '')}"
    if milliseconds := groups.get("milliseconds"):
        status = f"within {int(milliseconds) / 1000:g} s"
    if code == "model.unreachable" and (name := _NETWORK_CODE.search(text)) is not None:
        status = name[1]
    return _session_message(
        code,
        server=address if code in _OF_ADDRESS else SERVICE,
        status=clean_line(status, _MAX_STATUS),
        detail=clean_line(groups.get("detail", ""), _MAX_STATUS),
        model=clean_line(groups.get("model", ""), _MAX_STATUS),
    )


def describe_break(after_ms: float, error: str | None) -> str:
    """Say that the connection broke during an answer, and what to do; `error` is why trying again failed, if known."""
    sentence = f"{CONNECTION_BROKE}{spoken_duration(after_ms)}; the answer is incomplete"
    advice = model_advice("model.cut_off")
    if error is None or error.startswith(advice.problem):
        return f"{sentence}: {advice.remedy}"
    return f"{sentence}. Trying again failed: {error}"
