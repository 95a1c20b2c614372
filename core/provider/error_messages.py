"""What the agent says when the model's service fails it, in words of ours: what happened, and what to do."""

from __future__ import annotations

import re

__all__ = ["AT_LIMIT", "REFUSALS", "describe_failure"]

_SERVICE = "the model's service"

_CHECK = "check ANTHROPIC_BASE_URL, and whether a proxy or a page to sign in stands between"
_NAME_ANOTHER = (
    "name another one with --model or /model on the screen; `ua-tui doctor` lists those it knows, if it tells"
)
_FAILURES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), words)
    for pattern, words in (
        (
            r"API Error: API returned an empty or malformed response .*an HTML page",
            f"{_SERVICE} answered with a web page, not as a server of the Messages API does: {_CHECK}",
        ),
        (
            r"API Error: API returned an empty or malformed response \((HTTP \d+)\)",
            f"{_SERVICE} answered ({{0}}), but not as a server of the Messages API does: {_CHECK}",
        ),
        (
            r"There's an issue with the selected model \((.*?)\)\.",
            f"{_SERVICE} does not know the model {{0}}, or the key may not use it: {_NAME_ANOTHER}",
        ),
        (
            r"Failed to authenticate\. API Error: (403.*)",
            f"{_SERVICE} does not allow this ({{0}}): see in your account what the key may do, and from where",
        ),
        (
            r"API Error: Request rejected \((429)\)(?: · (.*))?",
            f"{_SERVICE} takes no more requests for now ({{0}}{{1}}): wait a while, "
            "or see to the limits of your account",
        ),
        (
            r"API Error: (402.*)",
            f"{_SERVICE} refused for lack of credit ({{0}}): check the account's billing",
        ),
        (
            r"API Error: ((?:Repeated )?529.*)",
            f"{_SERVICE} is overloaded ({{0}}): try again in a while",
        ),
        (r"API Error: (5\d\d.*)", f"{_SERVICE} is out of order ({{0}}): try again in a while"),
        (
            r"API Error: (4\d\d.*)",
            f"{_SERVICE} refused the request ({{0}}): see what it says; "
            "`ua-tui doctor` tries the model with a small one",
        ),
        (
            r"API Error: (?:Connection refused|Unable to connect|Connection error|Request timed out|.*\b"
            r"(?:ECONN\w+|ENOTFOUND|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)\b)(.*)",
            f"{_SERVICE} cannot be reached{{code}}: see that it runs, and check ANTHROPIC_BASE_URL and the network",
        ),
        (
            r"Not logged in\b",
            "there is no login for the model: set ANTHROPIC_API_KEY, or choose anew with /setup on the screen",
        ),
    )
)
_CODE = re.compile(r"\b(E[A-Z_]{4,})\b")
_LONGEST = 200


def describe_failure(said: str) -> str:
    """Say why a query failed, of what the agent says of it; what is not known is given as it came."""
    for pattern, words in _FAILURES:
        if (found := pattern.match(said)) is not None:
            groups = [" ".join((group or "").split())[:_LONGEST] for group in found.groups()]
            if "{1}" in words:
                groups[1] = f" {groups[1]}" if groups[1] else ""
            code = _CODE.search(said)
            return words.format(*groups, code=f" ({code[1]})" if code else "")
    return said


AT_LIMIT = (
    "the agent stopped at what the session may cost: "
    "raise max_cost_usd (--max-cost, or /budget on the screen)"
)

REFUSALS = {
    "authentication_failed": (
        "the model's service refused the credentials: check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, "
        "and ANTHROPIC_BASE_URL if it is set, or choose anew with /setup on the screen"
    ),
    "billing_error": "the model's service refused for lack of credit: check the account's billing",
}
"""What the model's service refuses so that no trying again will change it, by the name the agent has for it."""
