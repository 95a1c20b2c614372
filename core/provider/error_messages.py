"""The advice table of the model's service: what can go wrong with it, and what to do about each.

The probe finds a problem by asking the service once, the agent names one in a text of its own. Both are mapped to a
`ModelProblem`; `ua_tui.core.events.model_problems` has its clause, and `_REMEDIES` what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ua_tui.core.errors import Advice
from ua_tui.core.events.model_problems import (
    AGENT_CODES,
    CONNECTION_BROKE,
    FINAL_CODES,
    SERVICE,
    ModelProblem,
    describe_problem,
)
from ua_tui.core.events.units import spoken_duration
from ua_tui.core.provider.request import DEFAULT_URL
from ua_tui.core.text import clean_line


@dataclass(frozen=True, slots=True)
class _Remedy:
    """What to do about a problem; `change` says where a person in a session changes what is wrong."""

    remedy: str
    change: str = ""


_KEY = "ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, or /setup on the screen"
_ADDRESS = "ANTHROPIC_BASE_URL"
_REACHABLE = "check that the server runs, its address and port, the network, and the proxy if one is set"
_REMEDIES: Mapping[ModelProblem, _Remedy] = {
    "nothing_set": _Remedy(
        "set an API key, or the address of a server", "ANTHROPIC_API_KEY, or /setup on the screen"
    ),
    "malformed": _Remedy(
        "copy it again: a key is one line of letters, digits and punctuation",
        _KEY,
    ),
    "refused": _Remedy(
        "copy the key again, and check that it is complete, still valid and issued by this server",
        _KEY,
    ),
    "key_missing": _Remedy("enter the token that this server requires", _KEY),
    "forbidden": _Remedy(
        "check in your account what they may do, and from which countries they may be used",
    ),
    "no_credit": _Remedy("add credit to the account, or use the key of another one"),
    "limited": _Remedy("wait a while, or check the limits of your account"),
    "unknown_model": _Remedy(
        "use a model that it knows{models}",
        "--model, or /model on the screen; `ua-tui doctor` lists those that the server reports",
    ),
    "rejected": _Remedy(
        "read the server's message, and check the name of the model first",
        "`ua-tui doctor` tries the model with a small request",
    ),
    "not_an_api": _Remedy(
        "check the address: it is the part before /v1/messages, of a server that supports the Anthropic Messages "
        "API; some need a path of their own or a newer version, and a proxy or a login page may answer instead",
        _ADDRESS,
    ),
    "overloaded": _Remedy("try again in a minute"),
    "server_error": _Remedy("try again in a minute"),
    "not_listening": _Remedy(_REACHABLE, _ADDRESS),
    "unreachable": _Remedy(_REACHABLE, _ADDRESS),
    "no_host": _Remedy("check the spelling of the address, and the network"),
    "tls": _Remedy(
        "for a server of your own, try http:// instead; behind a proxy with its own certificate, set SSL_CERT_FILE and "
        "NODE_EXTRA_CA_CERTS to it; check that the clock of this machine is right",
    ),
    "timeout": _Remedy(
        "try again, as a large local model may still be loading; otherwise check the address and the network",
        "API_TIMEOUT_MS sets how long to wait",
    ),
    "cut_off": _Remedy("try again; if it repeats, read the log of the server, or of the proxy in between"),
}


def advice_for(
    problem: ModelProblem, server: str = SERVICE, *, models: Sequence[str] = (), **facts: str
) -> Advice:
    """What is wrong with `server`, and what to do about it.

    `models` are those that the server knows; `facts` are the other arguments of `describe_problem`.
    """
    known = f": {', '.join(models)}" if models else ""
    return Advice(describe_problem(problem, server, **facts), _REMEDIES[problem].remedy.format(models=known))


def _session_message(problem: ModelProblem, **facts: str) -> str:
    """What is wrong with the model's service, what to do, and where to change it during a session."""
    change = _REMEDIES[problem].change
    message = str(advice_for(problem, **facts))
    return f"{message} ({change})" if change else message


AT_LIMIT = (
    "the agent stopped at the spending limit: raise max_cost_usd (--max-cost, or /budget on the screen)"
)

REFUSALS: Mapping[str, str] = {code: _session_message(AGENT_CODES[code]) for code in FINAL_CODES}
"""The agent's codes for errors that trying again cannot cure, and the message with which the query is stopped."""

_NETWORK_CODE = re.compile(r"\b(E[A-Z_]{4,})\b")
_MAX_STATUS = 200
_ITS_ADVICE = "(?:This is a server-side issue|The API is at capacity)"

_PATTERNS: tuple[tuple[str, ModelProblem], ...] = (
    (r"API Error: API returned an empty or malformed response .*is (?P<status>an HTML page)", "not_an_api"),
    (r"API Error: API returned an empty or malformed response .*, (?P<status>empty body)", "not_an_api"),
    (r"API Error: API returned an empty or malformed response \((?P<status>HTTP \d+)\)", "not_an_api"),
    (r"There's an issue with the selected model \((?P<model>.*?)\)\.", "unknown_model"),
    (r"Failed to authenticate\. API Error: (?P<status>403.*)", "forbidden"),
    (r"API Error: Request rejected \((?P<status>429)\)(?: · (?P<more>.*))?", "limited"),
    (r"API Error: (?P<status>402.*)", "no_credit"),
    (rf"API Error: (?P<status>(?:Repeated )?529.*?)(?:\. {_ITS_ADVICE}.*)?$", "overloaded"),
    (rf"API Error: (?P<status>5\d\d.*?)(?:\. {_ITS_ADVICE}.*)?$", "server_error"),
    (r"API Error: (?P<status>4\d\d.*)", "rejected"),
    (r"API Error: Unable to connect to API: (?P<detail>[^(.]*(?:SSL|certificate)[^(.]*)", "tls"),
    (r"API Error: .*\((?P<status>ECONNRESET|EPIPE)\)", "cut_off"),
    (r"API Error: Connection lost mid-response", "cut_off"),
    (r"API Error: .*\bECONNREFUSED\b", "not_listening"),
    (r"API Error: .*\b(?:ENOTFOUND|EAI_AGAIN)\b", "no_host"),
    (r"(?:API Error: )?Request timed out(?:.*API_TIMEOUT_MS above (?P<milliseconds>\d+))?", "timeout"),
    (
        r"API Error: (?:Unable to connect|Connection error|.*\b(?:ECONN\w+|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b)",
        "unreachable",
    ),
    (r"API Error: (?P<status>JSON Parse error)", "not_an_api"),
    (r"Invalid API key\b", "refused"),
    (r"Not logged in\b", "nothing_set"),
)
"""The texts with which the agent ends a query when the service fails it."""

_FAILURES = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), problem) for pattern, problem in _PATTERNS)


_OF_ADDRESS: frozenset[ModelProblem] = frozenset({"not_listening", "no_host", "tls"})


def describe_failure(text: str, address: str = DEFAULT_URL) -> str:
    """Say why a query failed and what to do, given the agent's text; an unknown text is returned unchanged.

    `address` is where the model's service is, without a password.
    """
    for pattern, problem in _FAILURES:
        if (found := pattern.match(text)) is not None:
            groups = {name: " ".join((group or "").split()) for name, group in found.groupdict().items()}
            status = f"{groups.get('status', '')} {groups.get('more', '')}"
            if milliseconds := groups.get("milliseconds"):
                status = f"within {int(milliseconds) / 1000:g} s"
            if problem == "unreachable" and (code := _NETWORK_CODE.search(text)) is not None:
                status = code[1]
            return _session_message(
                problem,
                server=address if problem in _OF_ADDRESS else SERVICE,
                status=clean_line(status, _MAX_STATUS),
                detail=clean_line(groups.get("detail", ""), _MAX_STATUS),
                model=clean_line(groups.get("model", ""), _MAX_STATUS),
            )
    return text


def describe_break(after_ms: float, error: str | None) -> str:
    """Say that the connection broke during an answer, and what to do; `error` is why trying again failed, if known."""
    sentence = f"{CONNECTION_BROKE}{spoken_duration(after_ms)}; the answer is incomplete"
    if error is None or error.startswith(describe_problem("cut_off")):
        return f"{sentence}: {_REMEDIES['cut_off'].remedy}"
    return f"{sentence}. Trying again failed: {error}"
