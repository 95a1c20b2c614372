"""Answers without a page: why a site refuses one, as far as its status and its headers say."""

from __future__ import annotations

import httpx

from ua_tui.core.errors import ConnectionFailed, advice_code, advise

# What the services in front of sites send when they test whether a person visits.
_CHALLENGES = (
    ("cf-mitigated", {"challenge"}, "Cloudflare"),
    ("x-amzn-waf-action", {"challenge", "captcha"}, "AWS"),
    ("x-vercel-mitigated", {"challenge"}, "Vercel"),
)
# It is sent with pages, too.
_DATADOME = "x-datadome"


def bot_check(status: int, headers: httpx.Headers) -> ConnectionFailed | None:
    """Return the error of an answer that only checks whether a person visits; None if it is something else."""
    services = [
        name for header, values, name in _CHALLENGES if headers.get(header, "").strip().lower() in values
    ]
    if status in {403, 429} and _DATADOME in headers:
        services.append("DataDome")
    if services:
        return ConnectionFailed(
            advise("site.bot_check", status=status, service=services[0]),
            code=f"http_{status}" if status >= 300 else "not_readable",
            reason="bot_check",
        )
    return None


def status_error(status: int, headers: httpx.Headers) -> ConnectionFailed:
    """Return the error of an answer with a status other than 2xx."""
    found = bot_check(status, headers)
    if found is not None:
        return found
    code = advice_code("site", str(status)) or "site.other"
    phrase = httpx.codes.get_reason_phrase(status) or "no page"
    reason = code.removeprefix("site.") if code in ("site.login", "site.paywall") else ""
    return ConnectionFailed(advise(code, status=f"{status} {phrase}"), code=f"http_{status}", reason=reason)
