"""All checks of the doctor, their time limits, and how they are run at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from ua_tui.core.agent.definitions.roster import (
    Roster,
    expected_servers,
    problems_of,
    read_roster,
    roster_entries,
)
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import find_user_servers
from ua_tui.core.doctor.findings import DoctorCheck, Finding, OnCheck, PlannedCheck, failed, ok, run_check
from ua_tui.core.doctor.machine import check_agent, check_folder, check_knowledge, check_plugins, check_python
from ua_tui.core.doctor.services import (
    check_collector,
    check_composio,
    check_logfire,
    check_proxies,
    check_session_model,
    check_toolkit,
    check_user_server,
    check_web_reader,
    models_of,
)
from ua_tui.core.doctor.team import TeamChecks
from ua_tui.core.errors import DemoError
from ua_tui.core.events.units import quantity
from ua_tui.core.net.urls import proxies_of
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.settings.places import Places
from ua_tui.core.telemetry.environment import Exports

_TITLES = {"model": "Model", "simple_model": "Simple model", "fallback_model": "Fallback model"}
MACHINE_SECONDS, MODEL_SECONDS, SERVICE_SECONDS, TOOLKIT_SECONDS = 20.0, 30.0, 15.0, 30.0
"""How long each kind of check may take."""
_IMPORT_SECONDS = 30.0
"""Added to the limit of a check that imports a slow library."""


async def run_checks(
    settings: Settings,
    environ: Mapping[str, str],
    on_check: OnCheck = lambda _check: None,
) -> list[DoctorCheck]:
    """Run all checks at the same time; `on_check` is called with each when it is done, the result is in a fixed order.

    With the settings of the demo, the demo's servers are started and checked.
    """
    async with AsyncExitStack() as stack:
        if settings.demo:
            from ua_tui.core.demo.launch import demo_servers, demo_settings

            try:
                settings = demo_settings(settings, await stack.enter_async_context(demo_servers(0)))
            except DemoError as error:
                finding = _finding(failed(str(error), "reinstall ua-tui"))
                check = await run_check(PlannedCheck("demo", "Demo", finding, 1.0, required=True), Redactor())
                on_check(check)
                return [check]
        planned = _checks(settings, environ)
        # Those of the demo are nobody's team's.
        if settings.team and not settings.demo:
            checks = await stack.enter_async_context(TeamChecks(Address.parse(settings.team), environ))
            planned += checks.planned(SERVICE_SECONDS + _IMPORT_SECONDS)
        return await _run_all(planned, settings, environ, on_check)


async def run_team_checks(
    address: Address, settings: Settings, environ: Mapping[str, str]
) -> list[DoctorCheck]:
    """Check the database of a team, and nothing else."""
    async with TeamChecks(address, environ) as checks:
        planned = checks.planned(SERVICE_SECONDS + _IMPORT_SECONDS)
        return await _run_all(planned, settings, environ)


async def _run_all(
    planned: list[PlannedCheck],
    settings: Settings,
    environ: Mapping[str, str],
    on_check: OnCheck = lambda _check: None,
) -> list[DoctorCheck]:
    redactor = Redactor(secrets(settings, environ))

    async def run(each: PlannedCheck) -> DoctorCheck:
        check = await run_check(each, redactor)
        on_check(check)
        return check

    return await asyncio.gather(*map(run, planned))


async def _finding(finding: Finding) -> Finding:
    return finding


def _checks(settings: Settings, environ: Mapping[str, str]) -> list[PlannedCheck]:
    # The demo exports nothing.
    exports = Exports() if settings.demo else Exports.of(token=settings.logfire_token, environ=environ)
    has_collector = exports.collector is not None
    folder, trust = Path.cwd(), ServerTrust()
    model_seconds, service_seconds = MODEL_SECONDS + _IMPORT_SECONDS, SERVICE_SECONDS + _IMPORT_SECONDS
    # The demo uses only its own servers.
    servers = [] if settings.demo else find_user_servers(settings, folder)
    logfire = check_logfire(
        settings,
        address=environ.get("LOGFIRE_BASE_URL"),
        within=SERVICE_SECONDS,
        has_collector=has_collector,
    )
    checks = [
        PlannedCheck("python", "Python", check_python(), MACHINE_SECONDS, required=True),
        PlannedCheck("agent", "Agent", check_agent(settings, environ), MACHINE_SECONDS, required=True),
        PlannedCheck("workspace", "Session folder", check_folder(settings), MACHINE_SECONDS, required=True),
        PlannedCheck("knowledge", "Knowledge base", check_knowledge(settings), MACHINE_SECONDS),
        PlannedCheck("plugins", "Plug-ins", check_plugins(settings), MACHINE_SECONDS + _IMPORT_SECONDS),
    ]
    # The demo reaches nothing but this machine.
    if not settings.demo and (proxies := proxies_of(environ)):
        checks.append(PlannedCheck("proxy", "Proxy", check_proxies(proxies), SERVICE_SECONDS))
    for name, model in models_of(settings).items():
        work = check_session_model(settings, model, environ=environ, within=MODEL_SECONDS)
        checks.append(PlannedCheck(name, _TITLES[name], work, model_seconds, required=name == "model"))
    checks += [
        PlannedCheck("toolkit", "Local toolkit", check_toolkit(), TOOLKIT_SECONDS, required=True),
        PlannedCheck(
            "composio", "Composio", check_composio(settings, within=SERVICE_SECONDS), service_seconds
        ),
        PlannedCheck("web_reader", "Web reader", check_web_reader(settings), service_seconds),
    ]
    for server in servers:
        work = check_user_server(server, folder, environ=environ, trust=trust)
        checks.append(PlannedCheck(f"server {server.name}", f"Server {server.name}", work, TOOLKIT_SECONDS))
    for title, finding in check_definitions(settings, Places(environ=environ)).items():
        checks.append(PlannedCheck(title.lower(), title, _finding(finding), 1.0))
    checks.append(PlannedCheck("logfire", "Logfire", logfire, service_seconds))
    if has_collector:
        collector = check_collector(exports, within=SERVICE_SECONDS)
        checks.append(PlannedCheck("collector", "Collector", collector, service_seconds))
    return checks


_MOST = 20
_USE = {True: "use it without the invalid parts", False: "do not use it"}
_KINDS = {"agent": "Sub-agent", "skill": "Skill", "command": "Command"}


def check_definitions(settings: Settings, places: Places) -> dict[str, Finding]:
    """Read every file as a session in the current folder would; gives findings by title."""
    roster = read_roster(settings, places)
    listed = roster_entries(roster, settings, expected_servers(settings, places.cwd))
    found = {
        f"{_KINDS[entry.kind]} {entry.name}": failed(
            " ".join(problems), f"sessions {_USE[entry.state == 'broken']}; `ua-tui agents` lists every file"
        )
        for entry in listed
        if (problems := problems_of(entry))
    }
    if roster.not_chosen:
        found["Skills"] = failed(" ".join(roster.not_chosen), "correct the setting skills")
    if len(found) > _MOST:
        more = failed(f"{len(found) - _MOST} more files have problems", "`ua-tui agents` lists every file")
        found = dict(list(found.items())[:_MOST]) | {"More files": more}
    return found or {"Sub-agents": ok(_counted(roster))}


def _counted(roster: Roster) -> str:
    skills = len(roster.skills.definitions)
    chosen = f"{len(roster.chosen)} of {skills} skills are on" if skills else "no skills"
    commands = len(roster.commands.definitions)
    more = f", {quantity(commands, 'command')}" if commands else ""
    return f"{len(roster.subagents)} sub-agents, {chosen}{more}"
