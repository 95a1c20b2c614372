"""Answers without a page: why a site refuses one, as far as its status and its headers say."""

from __future__ import annotations

import httpx

from ua_tui.core.errors import ConnectionFailed

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
            f"the site answers {status} and only lets in browsers that pass a check ({services[0]}); "
            "use a web reader if there is one, or choose another source",
            code=f"http_{status}" if status >= 300 else "not_readable",
            reason="bot_check",
        )
    return None


def status_error(status: int, headers: httpx.Headers) -> ConnectionFailed:
    """Return the error of an answer with a status other than 2xx."""
    found = bot_check(status, headers)
    if found is not None:
        return found
    reason = ""
    match status:
        case 401:
            advice = "it needs a login; choose another source"
            reason = "login"
        case 402:
            advice = "it must be paid for; choose another source"
            reason = "paywall"
        case 403 | 451:
            advice = "the site does not give it to programs; use a web reader if there is one, or choose another source"
        case 404 | 410:
            advice = "there is no such page; check the address"
        case _ if status >= 500 or status == 429:
            advice = "the site is overloaded or broken; try again later"
        case _:
            advice = "check the address"
    phrase = httpx.codes.get_reason_phrase(status) or "no page"
    return ConnectionFailed(
        f"the site answers {status} {phrase}: {advice}", code=f"http_{status}", reason=reason
    )
