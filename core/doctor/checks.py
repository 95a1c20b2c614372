"""All checks of the doctor: which there are, how long each may take, and the run of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from core.connections.server_trust import ServerTrust
from core.doctor.agents import look_at_roster
from core.doctor.check import Check, Finding, failed, run
from core.doctor.collector import ask_collector
from core.doctor.machine import look_at_agent, look_at_folder, look_at_python
from core.doctor.models import ask_model, models_of
from core.doctor.servers import ask_own_server, ask_web_reader, own_servers_of
from core.doctor.services import ask_composio, ask_logfire
from core.doctor.toolkit import ask_toolkit
from core.errors import DemoError
from core.redaction.redactor import Redactor
from core.settings.model import Places, Settings
from core.settings.secrets import secrets
from core.telemetry.environment import Exports

__all__ = ["Patience", "examine"]

Tell = Callable[[Check], None]

_TITLES = {"model": "Model", "simple_model": "Simple model", "fallback_model": "Fallback model"}
_SPARE = 30.0
"""Seconds on top, in which what a check needs is imported."""


@dataclass(frozen=True)
class Patience:
    """How many seconds each kind of check may take."""

    machine: float = 20.0
    model: float = 20.0
    service: float = 15.0
    toolkit: float = 30.0


async def examine(
    settings: Settings,
    environ: Mapping[str, str],
    tell: Tell = lambda _check: None,
    patience: Patience = Patience(),
) -> list[Check]:
    """Run every check, all at once; `tell` is given each as it ends, the result has them in their order.

    With the settings of the demo the demo's own servers are started and asked.
    """
    async with AsyncExitStack() as stack:
        if settings.demo:
            from core.demo.launch import demo_servers
            from core.demo.settings import demo_settings

            try:
                settings = demo_settings(settings, await stack.enter_async_context(demo_servers(0)))
            except DemoError as error:
                why = failed(str(error), "reinstall ua-tui")
                settled = await run(
                    "demo", "Demo", _settled(why), within=1, redactor=Redactor(), required=True
                )
                tell(settled)
                return [settled]
        return list(
            await asyncio.gather(*(_told(work, tell) for work in _checks(settings, environ, patience)))
        )


async def _settled(finding: Finding) -> Finding:
    return finding


async def _told(work: asyncio.Future[Check], tell: Tell) -> Check:
    check = await work
    tell(check)
    return check


def _checks(
    settings: Settings, environ: Mapping[str, str], patience: Patience
) -> list[asyncio.Future[Check]]:
    redactor = Redactor(secrets(settings, environ))
    # The demo sends nothing anywhere.
    exports = Exports() if settings.demo else Exports.of(token=settings.logfire_token, environ=environ)
    folder, trust = Path.cwd(), ServerTrust()
    begun: list[asyncio.Future[Check]] = []
    for name, title, work, within, required in (
        ("python", "Python", look_at_python(), patience.machine, True),
        ("agent", "Agent", look_at_agent(settings, environ), patience.machine, True),
        ("workspace", "Session folder", look_at_folder(settings), patience.machine, True),
        *(
            (
                name,
                _TITLES[name],
                ask_model(settings, model, environ=environ, within=patience.model),
                patience.model + _SPARE,
                name == "model",
            )
            for name, model in models_of(settings).items()
        ),
        ("toolkit", "Local toolkit", ask_toolkit(), patience.toolkit, True),
        (
            "composio",
            "Composio",
            ask_composio(settings, within=patience.service),
            patience.service + _SPARE,
            False,
        ),
        ("web_reader", "Web reader", ask_web_reader(settings), patience.service + _SPARE, False),
        *(
            (
                f"server {server.name}",
                f"Server {server.name}",
                ask_own_server(server, folder, environ=environ, trust=trust),
                patience.toolkit,
                False,
            )
            # The demo talks to its own servers alone.
            for server in ([] if settings.demo else own_servers_of(settings, folder))
        ),
        *(
            (title.lower(), title, _settled(finding), 1.0, False)
            for title, finding in look_at_roster(settings, Places.of(environ=environ)).items()
        ),
        (
            "logfire",
            "Logfire",
            ask_logfire(
                settings,
                address=environ.get("LOGFIRE_BASE_URL"),
                within=patience.service,
                elsewhere=exports.collector is not None,
            ),
            patience.service + _SPARE,
            False,
        ),
        *(
            (
                "collector",
                "Collector",
                ask_collector(exports, within=patience.service),
                patience.service + _SPARE,
                False,
            )
            for _ in range(exports.collector is not None)
        ),
    ):
        begun.append(
            asyncio.ensure_future(run(name, title, work, within=within, redactor=redactor, required=required))
        )
    return begun
