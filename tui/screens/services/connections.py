"""The connections: MCP servers, credentials, where traces go, and tests of all of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from ua_tui.core.connections.base import COMPOSIO
from ua_tui.core.connections.toolkit import WEB_READER
from ua_tui.core.connections.toolkit_tools import SERVER as TOOLKIT
from ua_tui.core.connections.user_servers import UserServer, find_user_servers
from ua_tui.core.doctor.findings import DoctorCheck, can_start
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import Event, McpServer, McpStatus
from ua_tui.core.json_values import table_of
from ua_tui.core.provider.credentials import Credential, credentials_of
from ua_tui.core.provider.probe import model_server, shown_server
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.telemetry.export_errors import Destination
from ua_tui.core.telemetry.tracer import trace_targets
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.ports import SessionPort
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.screens.services.login import LoginScreen
from ua_tui.tui.screens.services.row_screen import MUTED, RowScreen, field, hanging
from ua_tui.tui.widgets.column_list import Column
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.modal import NARROW
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session

ROOMY = NARROW[1][0]

ORIGINS = {TOOLKIT: "local toolkit", COMPOSIO: "Composio", WEB_READER: "Z.AI"}
_LONGEST_ERROR = 2_000


@dataclass(frozen=True)
class State:
    """A state as a mark, a word with the same meaning, and a style."""

    mark: str
    word: str
    style: str


_TABLES = table_of(__file__, "connections.toml")
_ORDER = {name: at for at, name in enumerate(_TABLES["order"].split())}
_STATES = {name: State(**state) for name, state in _TABLES["servers"].items()}
_CHECKED = {name: State(**state) for name, state in _TABLES["checks"].items()}


def state_of(server: McpServer) -> State:
    """Return how the state of a server is shown; an unknown one is shown as it is."""
    if server.again_s is not None:
        return State("↻", f"failed, retry in {server.again_s:g} s", "$warning")
    return _STATES.get(server.status) or State("?", clean_line(server.status, 20), "$warning")


def origin(server: McpServer) -> str:
    """Return where a server comes from."""
    return ORIGINS.get(server.name, "custom")


class ConnectionsScreen(RowScreen[McpServer]):
    """Shows what the session is connected to; servers can be reconnected and disabled.

    Args:
        settings: the settings.
        session: returns the session; None before it starts.
    """

    OFFERED = (
        ("connections.reconnect", "reconnect", "reconnect"),
        ("connections.log_in", "log in", "log_in"),
        ("connections.switch", "enable, disable", "switch"),
        ("connections.test", "test", "test"),
    )

    def __init__(self, settings: Settings, session: Callable[[], SessionPort | None]) -> None:
        super().__init__()
        self._settings = settings
        self._find_session = session
        self._session: SessionPort | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._controls: Session | None = None
        self._definitions: dict[str, UserServer] = {}
        self._checks: list[DoctorCheck] = []
        self._testing = self._following = False
        self._failure = ""
        self._trace = ""
        self._problems: dict[Destination, str] = {}
        self._found: Sequence[Credential] | None = None
        self._traces: Sequence[str] = ()

    def compose_details(self) -> ComposeResult:
        """Create the server, the credentials and the checks."""
        with Container(id="connections-columns"):
            with Container(id="connections-left"):
                yield Words(id="about")
                yield Words(id="connections-credentials")
            yield Words(id="connections-checks")

    def on_mount(self) -> None:
        """Show the state, and refresh it regularly."""
        self._refresh_state()
        self.show_rows()
        self._show_checks()
        start_job(self, self._read_credentials, "credentials")
        start_job(self, self._read_definitions, "own servers")
        # The agent does not report by itself that a server failed.
        self.set_interval(2.0, self._refresh_state)

    def on_resize(self) -> None:
        """Lay out what does not depend on the rows for the new width."""
        self._show_credentials()
        self._show_checks()

    # -- display -----------------------------------------------------------------------------

    def on_unmount(self) -> None:
        """Stop listening to the session."""
        self._unsubscribe()

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, McpStatus) and self.is_mounted:
            self._show_servers(event.servers)

    def _show_servers(self, servers: Sequence[McpServer]) -> None:
        self.rows = servers
        self.show_rows()

    def show_rows(self) -> None:
        """Show the servers and how many are connected."""
        wanted = [server for server in self.rows if server.status not in {"off", "untrusted", "disabled"}]
        connected = sum(server.status == "connected" for server in wanted)
        facts = f"{connected} of {len(wanted)} connected" if wanted else "no servers"
        self.title_line.show("Connections", facts=facts)
        super().show_rows()

    def columns(self, width: int) -> Sequence[Column[McpServer]]:
        """The name of a server, its state, its tools and where it is from."""
        others: list[Column[McpServer]] = [
            Column("state", 21, lambda server: state_of(server).word, lambda server: state_of(server).style),
            Column(
                "tools",
                5,
                lambda row: "–" if row.tools is None or row.status != "connected" else f"{row.tools:,}",
                MUTED,
                right=True,
            ),
            Column("from", 14, origin, MUTED),
        ]
        room = max(8, min(40, width - 3 - sum(each.width + each.gap for each in others)))
        name = Column[McpServer](
            "server", room, lambda server: clean_line(server.name), gap=0, cut=middle_cut
        )
        return [name, *others]

    def mark(self, row: McpServer) -> tuple[str, str]:
        """The sign of its state."""
        state = state_of(row)
        return state.mark, state.style

    def details(self) -> Iterator[Content]:
        """The details of the server under the cursor."""
        server, definition, width = self.chosen, self._definition, self._column
        if server is None:
            yield Content.styled("No servers: the agent has not started yet.", MUTED)
            return
        state = state_of(server)
        yield Content.assemble(
            (clean_line(server.name), "bold"),
            (f"  {state.mark} {state.word}", state.style),
            (f" · {origin(server)}", MUTED),
        )
        if definition is not None:
            starts = "starts" if definition.transport == "stdio" else f"opens, {definition.transport}"
            yield field(starts, clean_line(Redactor().redact(definition.target), _LONGEST_ERROR), width)
            yield field("defined in", clean_line(definition.source, _LONGEST_ERROR), width)
        if server.tool_names:
            names = ", ".join(tool_name(f"mcp__{server.name}__{name}").short for name in server.tool_names)
            yield field("tools", names, width)
        elif server.status == "connected":
            yield field("tools", f"{server.tools:,}" if server.tools else "none", width)
        if server.status in ("off", "untrusted"):
            yield Content(_whole(server.error or "Not set up."))
        elif server.error and not (server.status == "needs-auth" and definition is not None):
            yield field("error", _whole(server.error), width, "$error")
        elif server.last_error:
            yield field("last error", _whole(server.last_error), width)
        if todo := _todo(server, self.keys, definition):
            yield Content.styled(todo, MUTED)

    @property
    def _definition(self) -> UserServer | None:
        return self._definitions.get(self.chosen.name) if self.chosen is not None else None

    async def _read_definitions(self) -> None:
        if not self._settings.demo:
            found = await asyncio.to_thread(find_user_servers, self._settings, Path.cwd())
            self._definitions = {each.name: each for each in found if isinstance(each, UserServer)}
            self.show_details()

    async def _read_credentials(self) -> None:
        settings, environ = self._settings, os.environ
        found = await asyncio.to_thread(credentials_of, settings, Places(environ=environ))
        token = None if settings.demo else settings.logfire_token
        self._traces = trace_targets(token=token, environ=environ)
        self._found = found
        self._show_credentials()

    def _show_credentials(self) -> None:
        """Which credentials there are and where they are from, which server and model they are for, where traces go."""
        if self._found is None:
            return
        settings = self._settings
        lines = [Content.styled("Credentials", "bold")]
        if settings.demo:
            lines.append(Content.styled("The demo uses its own test keys. Yours are not used.", MUTED))
        room = max((len(each.name) for each in self._found), default=0)
        for each in self._found:
            mark, style = ("✓", "$success") if each.place else ("·", MUTED)
            head = Content.assemble((f"{mark} ", style), f"{each.name:<{room}}  ")
            lines.append(hanging(head, each.place or "missing", self._column, MUTED))
        address = settings.composio_base_url
        reach = {
            "Model": f"{clean_line(settings.model or 'default model')} at {model_server(settings)}",
            "Composio": shown_server(address) if address else "Composio's own",
        }
        if settings.demo:
            reach = {"Model": "scripted, on this machine", "Composio": "simulated, on this machine"}
        reach["Traces"] = "; ".join(_target(each, self._problems) for each in self._traces)
        if self._trace:
            reach["Trace"] = self._trace
        lines += [Content(""), Content.styled("Destinations", "bold")]
        label = max(map(len, reach))
        lines += [field(f"{name:<{label}}", text, self._column) for name, text in reach.items()]
        self.query_one("#connections-credentials", Words).update(Content("\n").join(lines))

    @property
    def _column(self) -> int:
        """The width of a column below the list."""
        whole = self.size.width - 4
        return whole if self.size.width < ROOMY else whole // 2 - 3

    # -- actions ------------------------------------------------------------------------------

    def _refresh_state(self) -> None:
        if self._session is None:
            if (session := self._find_session()) is None:
                return
            self._session, self._controls = session, session.controls
            self._unsubscribe = session.bus.subscribe(self._handle_event)
            self._show_servers(self._controls.servers.known if self._controls is not None else ())
        if self._controls is not None:
            self._controls.servers.refresh()
        trace = self._session.trace
        # Its address is known only after a while.
        known = clean_line(trace.link or trace.trace_id, 500) if trace is not None else ""
        problems = dict(trace.problems) if trace is not None else {}
        if (known, problems) != (self._trace, self._problems):
            self._trace, self._problems = known, problems
            self._show_credentials()

    def action_reconnect(self) -> None:
        """Reconnect the server under the cursor."""
        if self._controls is not None and (chosen := self.chosen) is not None:
            self._report(self._controls.servers.reconnect(chosen.name))

    def action_log_in(self) -> None:
        """Log in to the server under the cursor, and connect it then."""
        definition, chosen = self._definition, self.chosen
        if chosen is None:
            return
        name = clean_line(chosen.name, 60)
        if definition is None or definition.transport == "stdio":
            self.warn(f"{name} has no login.")
        elif chosen.status == "untrusted":
            self.warn(f"Trust or refuse {name} first, with {self.keys.shown('connections.reconnect')}.")
        else:
            self.app.push_screen(LoginScreen(definition), partial(self._after_login, chosen.name))

    def _after_login(self, name: str, logged_in: bool | None) -> None:
        if logged_in and self._controls is not None:
            self.notify(f"You are logged in to {clean_line(name, 60)}.")
            # If it is being connected already, there is nothing to report.
            self._controls.servers.reconnect(name)

    def action_switch(self) -> None:
        """Disable or enable the server under the cursor."""
        if self._controls is not None and (chosen := self.chosen) is not None:
            self._report(self._controls.servers.switch(chosen.name, on=chosen.status == "disabled"))

    def _report(self, why: str) -> None:
        if why:
            self.warn(why)

    def action_test(self) -> None:
        """Run the checks of the doctor."""
        if self._testing:
            self.warn("The tests are already running.")
            return
        self._testing = self._following = True
        self._checks, self._failure = [], ""
        self._follow_checks()
        start_job(self, self._test, "doctor")

    async def _test(self) -> None:
        from ua_tui.core.doctor.child import run_checks_in_child

        def add(check: DoctorCheck) -> None:
            self._checks.append(check)
            self._follow_checks()

        try:
            await run_checks_in_child(self._settings, add)
        except UniversalAgentError as error:
            self._failure = error.advice.sentence
        self._testing = False
        self._follow_checks()

    def _follow_checks(self) -> None:
        self._show_checks()
        if self._following:
            # Unless the person scrolled elsewhere; their place is known only after the layout.
            shown = self.query_one("#connections-checks")
            self.call_after_refresh(shown.scroll_visible, animate=False, top=True)

    def action_scroll_details(self, pages: int) -> None:
        """Scroll the details, and follow the checks no longer."""
        self._following = False
        super().action_scroll_details(pages)

    def _show_checks(self) -> None:
        listed = sorted(self._checks, key=lambda check: _ORDER.get(check.name, len(_ORDER)))
        lines = [Content.styled("Tests", "bold")]
        if not (listed or self._testing or self._failure):
            lines.append(
                Content.styled(
                    f"{self.keys.shown('connections.test')} tests each of these with one small request.",
                    MUTED,
                )
            )
        room = max((cell_len(check.title) for check in listed), default=0)
        for check in listed:
            state = _CHECKED[check.status]
            head = Content.assemble((f"{state.mark} ", state.style), f"{check.title:<{room}}  ")
            lines.append(hanging(head, check.found, self._column, MUTED))
            if check.advice and check.status != "ok":
                arrow = Content.assemble(" " * (room + 4), ("→ ", state.style))
                lines.append(hanging(arrow, check.advice, self._column))
        if self._testing:
            lines.append(Content.styled("… testing", "$accent"))
        elif self._failure:
            lines.append(Content.styled(f"✗ {clean_line(self._failure, 400)}", "$error"))
        elif listed:
            could = can_start(listed)
            verdict = "✓ A session can start." if could else "✗ A session cannot start: fix the lines with ✗."
            lines.append(Content.styled(verdict, "$success" if could else "$error"))
        self.query_one("#connections-checks", Words).update(Content("\n").join(lines))


def _target(target: str, problems: Mapping[Destination, str]) -> str:
    """Return where spans go, with the reason if they do not arrive."""
    destination: Destination | None = None
    if target.startswith("OTLP"):
        destination = "collector"
    elif target.startswith("Logfire"):
        destination = "logfire"
    why = problems.get(destination) if destination is not None else None
    return f"✗ {target}: {clean_line(why, 300)}" if why else target


def _whole(text: str) -> str:
    return clean(text[:_LONGEST_ERROR]).strip()


def _todo(server: McpServer, keys: Keys, definition: UserServer | None) -> str:
    again, switch = keys.shown("connections.reconnect"), keys.shown("connections.switch")
    match server.status:
        case "failed" if server.again_s is not None:
            return f"Press {again} to reconnect now, {switch} to disable it."
        case "failed":
            return f"Press {again} to reconnect, {switch} to disable it."
        case "untrusted":
            return f"Press {again} to trust or refuse it."
        case "needs-auth" if definition is not None:
            return f"Press {keys.shown('connections.log_in')} for the browser login, {switch} to disable it."
        case "needs-auth":
            return f"Sign in at the service, then press {again} to reconnect."
        case "disabled":
            return f"The agent does not see its tools. Press {switch} to enable it."
        case _:
            return ""
