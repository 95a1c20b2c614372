"""Whether the models of a session answer: each is asked for one token, as the agent would ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from core.doctor.check import Finding, failed, ok, skipped, warning
from core.provider.claude_login import find_login
from core.provider.probe import ModelVerdict, check_model
from core.settings.model import Settings

__all__ = ["ask_model", "models_of"]

_NOTHING_SET = (
    "run `ua-tui`, which sets one up, or set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL with ANTHROPIC_AUTH_TOKEN, "
    "or log in with `claude`; --demo needs none of them"
)


def models_of(settings: Settings) -> dict[str, str | None]:
    """The models a session may use, by the name of their setting; None is the one nobody named."""
    named = {"model": settings.model}
    for name in ("simple_model", "fallback_model"):
        model = getattr(settings, name)
        if model is not None and model not in named.values():
            named[name] = model
    return named


async def ask_model(
    settings: Settings, model: str | None, *, environ: Mapping[str, str], within: float
) -> Finding:
    """Ask one model for one token; a login is only looked for, as nobody but the agent can use it."""
    verdict = await check_model(replace(settings, model=model), deadline=within, environ=environ)
    if verdict.kind == "nothing_set":
        login = await asyncio.to_thread(find_login, settings)
        if not login.usable:
            return failed(f"no key, no token and no server. {login.message}", _NOTHING_SET)
        if model != settings.model:
            return skipped("with a login only a session can try it")
        return ok(f"{login.message} Only a session can try it.")
    if verdict.kind == "unknown_model" and model is None and settings.base_url:
        # What the agent asks for when nobody named a model is its own business, and may be another one.
        return warning(f"no model is named: {verdict.message}", _named(verdict))
    if verdict.kind == "ok":
        return ok(verdict.message) if not verdict.advice else warning(verdict.message, verdict.advice)
    if verdict.works:
        return warning(verdict.message, verdict.advice)
    advice = verdict.advice if verdict.kind != "unknown_model" else _named(verdict)
    return failed(verdict.message, f"{advice}{_credential(settings, verdict)}")


def _named(verdict: ModelVerdict) -> str:
    return f"{verdict.advice} It is set by --model or the setting model."


def _credential(settings: Settings, verdict: ModelVerdict) -> str:
    """Where to look for what was refused."""
    if verdict.kind not in {"refused", "key_missing", "forbidden", "malformed"}:
        return ""
    names = [
        name
        for name, value in (
            ("ANTHROPIC_API_KEY", settings.api_key),
            ("ANTHROPIC_AUTH_TOKEN", settings.auth_token),
            ("ANTHROPIC_BASE_URL", settings.base_url),
        )
        if value
    ]
    return f" It was asked with {' and '.join(names)}." if names else ""
