"""Checks the services and MCP servers of a session, each with one small request, or by listing its tools."""

from __future__ import annotations

import asyncio
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from ua_tui.core.agent.mcp.client import ask_server
from ua_tui.core.concurrency.threads import apart
from ua_tui.core.connections import toolkit
from ua_tui.core.connections.base import COMPOSIO_OFF, WITHOUT_TOOLS
from ua_tui.core.connections.composio.sdk import service_name
from ua_tui.core.connections.composio.session import try_composio
from ua_tui.core.connections.oauth.flow import current_login
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.toolkit_tools import SERVER, toolkit_tools
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UnusableServer, UserServer, connection_to
from ua_tui.core.doctor.findings import Finding, failed, ok, skipped, warning
from ua_tui.core.errors import Advice, ConnectionFailed, WorkspaceError, advise, missing_extra
from ua_tui.core.events.codec import from_json
from ua_tui.core.events.units import quantity
from ua_tui.core.json_values import JsonMapping, text_in
from ua_tui.core.net.urls import LOOPBACK
from ua_tui.core.provider.credentials import find_login
from ua_tui.core.provider.probe import (
    ModelVerdict,
    check_model,
    cloud_credentials,
    cloud_service,
    lost_credentials,
    missing_variables,
    shown_server,
)
from ua_tui.core.settings.model import Cloud, Settings
from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.telemetry.export_errors import Destination, ExportMonitor, LibraryLog, export_advice
from ua_tui.core.text import clean_line

_LOCAL = "spans.jsonl in the session's folder is always written"
_REGION = re.compile(r"pylf_v\d+_(us|eu)_")


def models_of(settings: Settings) -> dict[str, str | None]:
    """The models of a session by the name of their setting; None is the default model."""
    models = {"model": settings.model}
    for name in ("simple_model", "fallback_model"):
        model = getattr(settings, name)
        if model is not None and model not in models.values():
            models[name] = model
    return models


async def check_session_model(
    settings: Settings, model: str | None, *, environ: Mapping[str, str], within: float
) -> Finding:
    """Request one token from a model; a login is only looked up, as only the agent can use it."""
    if settings.cloud:
        return _check_cloud(settings.cloud, environ)
    verdict = await check_model(replace(settings, model=model), deadline=within, environ=environ)
    if verdict.kind == "nothing_set":
        login = await asyncio.to_thread(find_login, settings)
        if not login.usable:
            return failed(
                f"no key, no token and no server. {login.message}", advise("model.nothing_set").remedy
            )
        if model != settings.model:
            return skipped("only a session can test a login")
        return ok(f"{login.message} Only a session can test it.")
    if verdict.kind == "unknown_model" and model is None and settings.base_url:
        # The agent chooses its default model itself, and may choose another one.
        return warning(f"no model is set: {verdict.message}", _with_setting(verdict))
    if verdict.kind == "ok":
        return ok(verdict.message) if not verdict.advice else warning(verdict.message, verdict.advice)
    if verdict.works:
        return warning(verdict.message, verdict.advice)
    advice = verdict.advice if verdict.kind != "unknown_model" else _with_setting(verdict)
    return failed(verdict.message, f"{advice}{_credential(settings, verdict)}")


def _check_cloud(cloud: Cloud, environ: Mapping[str, str]) -> Finding:
    """Look for what a cloud needs; only a session can ask its models."""
    service = cloud_service(cloud)
    title = service.title
    if lost := ", ".join(lost_credentials(cloud, environ)):
        return failed(f"the file that {lost} names does not exist", "correct the path, or unset the variable")
    found = cloud_credentials(cloud, environ, Path.home())
    if missing := missing_variables(cloud, environ):
        why = f"{title} needs {', and '.join(missing)}"
        advice = "set it in the environment; docs/install.md has an example"
        if found and set(missing) <= set(service.in_files):
            return warning(f"{why}, unless the credentials in {found} contain it", advice)
        return failed(why, advice)
    if not found:
        why = f"there are no credentials for {title} in the environment or the home folder"
        return warning(why, "a cloud machine may have its own, which only a session can test")
    return ok(f"{title}, with credentials in {found}. Only a session can test it.")


async def check_proxies(proxies: Mapping[str, str]) -> Finding:
    """Name the proxies that the environment sets, by their variables, and connect to each."""
    shown = {variable: shown_server(address) for variable, address in proxies.items()}
    for variable, address in proxies.items():
        try:
            parts = urlsplit(address)
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
        except (OSError, ValueError) as error:
            reason = "nothing is listening there" if isinstance(error, ConnectionRefusedError) else str(error)
            if isinstance(error, socket.gaierror):
                reason = "its host name is unknown"
            why = f"the proxy {shown[variable]} ({variable}) cannot be reached: {reason}"
            return failed(why, f"check that it runs, correct its address, or unset {variable}")
        writer.close()
    used = ", ".join(f"{address} ({variable})" for variable, address in shown.items())
    return ok(f"requests go through {used}, except to {', '.join(LOOPBACK)} and the hosts in NO_PROXY")


async def check_composio(settings: Settings, *, within: float) -> Finding:
    """Open a session at Composio as the program does, and delete it again."""
    if not settings.composio_api_key:
        return skipped("COMPOSIO_API_KEY is not set", COMPOSIO_OFF.remedy)
    try:
        await try_composio(settings, within=within)
    except ConnectionFailed as error:
        if error.code == "http_429":
            return warning(error.advice.problem, error.advice.remedy)
        return failed(error.advice, WITHOUT_TOOLS)
    return ok(f"{service_name(settings)} accepts the key")


async def check_logfire(
    settings: Settings, *, address: str | None, within: float, has_collector: bool = False
) -> Finding:
    """Ask Logfire for the project of the write token, as its library does; `address` is its server, if set."""
    token = settings.logfire_token
    if not token:
        return skipped(
            "LOGFIRE_TOKEN is not set",
            _LOCAL
            if has_collector
            else f"set it to export traces: without it, nothing is exported; {_LOCAL}",
        )
    if find_spec("logfire") is None:
        return failed(missing_extra("logfire", "exporting to Logfire"), _LOCAL)
    region = found[1] if (found := _REGION.match(token)) else "us"
    base = (address or f"https://logfire-{region}.pydantic.dev").rstrip("/")
    projects: list[str] = []

    def ask(report: Callable[[Advice], object]) -> None:
        # Slow to import.
        from ua_tui.core.telemetry.export_session import ExportSession

        monitor = ExportMonitor("logfire", report, quiet=True)
        with suppress(OSError, ValueError), ExportSession(monitor) as session:
            answer = session.get(
                f"{base}/v1/info",
                headers={"authorization": token.encode("ascii")},
                timeout=within,
                allow_redirects=False,
            )
            project = clean_line(text_in(from_json(answer.content), "project_name"), 80)
            if answer.status_code == 200 and project:
                projects.append(project)
            monitor.on_failure("other_service", str(answer.status_code))

    # A token that is no ASCII is not sent.
    problem = await _export_problem("logfire", ask, within) or export_advice("logfire", "bad_value")
    if projects:
        return ok(f"traces go to the project {projects[0]}")
    return failed(problem._replace(problem=f"{shown_server(base)}: {problem.problem}"), _LOCAL)


async def check_collector(exports: Exports, *, within: float) -> Finding:
    """Export no spans to the collector, in the way that the tracing of a session exports spans."""
    where = exports.describe_collector()

    def export(report: Callable[[Advice], object]) -> None:
        # Slow to import.
        from ua_tui.core.telemetry.exporters import collector_exporter

        def on_problem(problem: Advice) -> None:
            report(problem)
            # It would retry for ten seconds.
            exporter.shutdown()

        LibraryLog()
        exporter = collector_exporter(ExportMonitor("collector", on_problem, quiet=True))
        exporter.export([])

    problem = await _export_problem("collector", export, within)
    if problem is not None:
        return failed(problem._replace(problem=f"{where}: {problem.problem}"), _LOCAL)
    return ok(f"{where} accepts spans")


async def _export_problem(
    destination: Destination, export: Callable[[Callable[[Advice], object]], None], within: float
) -> Advice | None:
    """Do what reports the problems of an export, in a thread; returns the first one."""
    problems: list[Advice] = []
    try:
        await apart(lambda: export(problems.append), within)
    except TimeoutError:
        problems.append(export_advice(destination, "timeout"))
    return problems[0] if problems else None


def _with_setting(verdict: ModelVerdict) -> str:
    return f"{verdict.advice} Set it with --model or the setting model."


def _credential(settings: Settings, verdict: ModelVerdict) -> str:
    """The settings that the rejected credential came from."""
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
    return f" The request used {' and '.join(names)}." if names else ""


async def check_toolkit() -> Finding:
    """Start the toolkit in a temporary folder and list its tools."""
    with tempfile.TemporaryDirectory(prefix="ua-tui-doctor-", ignore_cleanup_errors=True) as folder:
        used = toolkit.toolkit_connection(toolkit.ToolkitStart(workspace=Path(folder, "session")))
        finding = await probe_server(used.servers[SERVER], remedy="reinstall ua-tui", folder=folder)
    if finding.status != "ok":
        return finding
    tools = toolkit_tools()
    more = len(tools["knowledge"]) + len(tools["sandbox"])
    return structs.replace(
        finding, found=f"{finding.found}; {more} more when the knowledge base and the workbench are available"
    )


async def check_web_reader(settings: Settings) -> Finding:
    """Reach Z.AI's web reader with the key of the settings."""
    if not settings.web_reader_key:
        return skipped("Z_AI_API_KEY is not set", "set it to read pages that block crawlers")
    server = toolkit.web_reader_connection(settings).servers[toolkit.WEB_READER]
    return await probe_server(server, remedy=f"check Z_AI_API_KEY and the network; {WITHOUT_TOOLS}")


async def check_user_server(
    server: UserServer | UnusableServer,
    folder: Path,
    *,
    environ: Mapping[str, str],
    trust: ServerTrust,
) -> Finding:
    """Start or reach a server as a session would; one that is not trusted is not started."""
    if isinstance(server, UnusableServer):
        return failed(server.advice, WITHOUT_TOOLS)
    decision = trust.decision(server, folder)
    if decision != "trusted":
        reason = "you refused it" if decision == "refused" else "it is not trusted yet"
        return skipped(f"{reason} ({server.target})", f"to use it, run `ua-tui servers trust {server.name}`")
    try:
        connection = connection_to(server, environ, folder)
    except ConnectionFailed as error:
        return failed(error.advice, WITHOUT_TOOLS)
    config, login = connection.servers[server.name], None
    to_log_in = f"to log in, run `ua-tui connect {server.name}`; {WITHOUT_TOOLS}"
    if connection.login is not None:
        try:
            login = await current_login(connection.login, LoginStore())
        except ConnectionFailed as error:
            return failed(error.advice.problem, to_log_in)
        except WorkspaceError as error:
            return failed(str(error), WITHOUT_TOOLS)
    if login is not None:
        config = {**config, "headers": {**config["headers"], "Authorization": f"Bearer {login.access_token}"}}
    return await probe_server(
        config,
        remedy=f"correct it in {server.source}; {WITHOUT_TOOLS}",
        folder=str(folder),
        secrets=(*connection.secrets, *(login.secrets if login is not None else ())),
        login=to_log_in if connection.login is not None else "",
    )


async def probe_server(
    server: JsonMapping,
    *,
    remedy: str,
    folder: str | None = None,
    secrets: Iterable[str] = (),
    login: str = "",
) -> Finding:
    """Start or reach a server by its configuration for the agent, and list its tools.

    Args:
        server: the configuration.
        remedy: the advice if that fails.
        folder: the folder that a program is started in.
        secrets: masked in its errors, which may repeat its command.
        login: the advice if it needs a login; empty for a server that cannot have one.

    Raises:
        TimeoutError: a time limit of the caller has passed.
    """
    try:
        listed = await ask_server(server, lambda client: client.list_tools(), folder=folder, secrets=secrets)
    except ConnectionFailed as error:
        if login and error.code == "http_401":
            return failed("it needs a login", login)
        if error.code == "http_429" or error.code.startswith("http_5"):
            return failed(str(error), f"try again later; {WITHOUT_TOOLS}")
        reached = error.code not in ("unreachable", "http_401")
        return failed(f"it does not answer: {error}" if reached else str(error), remedy)
    if not listed.tools:
        return failed("it has no tools", remedy)
    names = ", ".join(clean_line(tool.name, 40) for tool in listed.tools)
    return ok(f"{quantity(len(listed.tools), 'tool')}: {names}")
