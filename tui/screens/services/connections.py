"""The connections: MCP servers, credentials and targets, and tests of all of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from ua_tui.core.connections.user_servers import UserServer, find_user_servers
from ua_tui.core.doctor.findings import Check
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import Event, McpServer, McpStatus
from ua_tui.core.provider.credentials import credentials_of, servers_of
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.telemetry.export_errors import Destination
from ua_tui.core.telemetry.tracer import trace_targets
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.ports import SessionPort
from ua_tui.tui.screens.services import connection_rows as texts
from ua_tui.tui.screens.services.login import LoginScreen
from ua_tui.tui.screens.services.row_screen import RowScreen
from ua_tui.tui.viewers.view.chrome import TitleLine
from ua_tui.tui.widgets.column_list import Column
from ua_tui.tui.widgets.modal import NARROW
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session

ROOMY = NARROW[1][0]

Examine = Callable[[Settings], AsyncIterator[Check]]


class ConnectionsScreen(RowScreen[McpServer]):
    """Shows what the session is connected to; servers can be reconnected and disabled.

    Args:
        settings: the settings.
        session: returns the session; None before it starts.
        examine: runs the checks of the doctor; by default in a child process.
    """

    BINDINGS = bindings("ConnectionsScreen")
    OFFERED = (
        ("connections.reconnect", "reconnect", "reconnect"),
        ("connections.log_in", "log in", "log_in"),
        ("connections.switch", "enable, disable", "switch"),
        ("connections.test", "test", "test"),
    )

    def __init__(
        self,
        settings: Settings,
        session: Callable[[], SessionPort | None],
        *,
        examine: Examine | None = None,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._find_session = session
        self._session: SessionPort | None = None
        self._controls: Session | None = None
        self._examine = examine
        self._unsubscribe: Callable[[], None] = lambda: None
        self._definitions: dict[str, UserServer] = {}
        self._checks: list[Check] = []
        self._testing = False
        self._following = False
        self._failure = ""
        self._trace = ""
        self._problems: dict[Destination, str] = {}
        self._credentials: Callable[..., Content] | None = None

    def compose_details(self) -> ComposeResult:
        """Create the server, the credentials and the checks."""
        with Container(id="connections-columns"):
            with Container(id="connections-left"):
                yield Static(id="about")
                yield Static(id="connections-credentials")
            yield Static(id="connections-checks")

    def on_mount(self) -> None:
        """Show the state, and refresh it regularly."""
        self._refresh_state()
        self.show_rows()
        self._show_checks()
        start_job(self, self._read_credentials, "credentials")
        start_job(self, self._read_definitions, "own servers")
        # The agent does not report by itself that a server failed.
        self.set_interval(2.0, self._refresh_state)

    def on_unmount(self) -> None:
        """Stop listening."""
        self._unsubscribe()

    def on_resize(self) -> None:
        """Lay out what does not depend on the rows for the new width."""
        self._show_credentials()
        self._show_checks()

    # -- display -----------------------------------------------------------------------------

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, McpStatus) and self.is_mounted:
            self.rows = event.servers
            self.show_rows()

    def show_rows(self) -> None:
        """Show the servers and how many are connected."""
        wanted = [server for server in self.rows if server.status not in {"off", "untrusted", "disabled"}]
        connected = sum(server.status == "connected" for server in wanted)
        facts = f"{connected} of {len(wanted)} connected" if wanted else "no servers"
        self.query_one(TitleLine).show("Connections", facts=facts)
        super().show_rows()

    def columns(self, width: int) -> Sequence[Column[McpServer]]:
        """The name of a server, its state, its tools and where it is from."""
        return texts.columns(width)

    def mark(self, row: McpServer) -> tuple[str, str]:
        """The sign of its state."""
        state = texts.state_of(row)
        return state.mark, state.style

    def details(self) -> Content:
        """The details of the server under the cursor."""
        return texts.about_server(self.chosen, self._column, self.keys, self._definition)

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
        self._credentials = partial(
            texts.credentials,
            found,
            model=settings.model,
            servers=servers_of(settings),
            traces=trace_targets(token=token, environ=environ),
            demo=settings.demo,
        )
        self._show_credentials()

    def _show_credentials(self) -> None:
        if self._credentials is not None:
            text = self._credentials(width=self._column, trace=self._trace, problems=self._problems)
            self.query_one("#connections-credentials", Static).update(text)

    @property
    def _column(self) -> int:
        """The width of a column below the list."""
        whole = self.size.width - 4
        return whole if self.size.width < ROOMY else whole // 2 - 3

    # -- actions ------------------------------------------------------------------------------

    def _refresh_state(self) -> None:
        if self._session is None:
            self._session = self._find_session()
            if self._session is None:
                return
            self._controls = self._session.controls
            self.rows = self._controls.servers.known if self._controls is not None else ()
            self._unsubscribe = self._session.bus.subscribe(self._handle_event)
            self.show_rows()
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
            self.notify(f"You are logged in to {clean_line(name, 60)}.", markup=False)
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
            self.warn("The tests are running already.")
            return
        self._testing = self._following = True
        self._checks, self._failure = [], ""
        self._show_checks()
        start_job(self, self._test, "doctor")

    async def _test(self) -> None:
        from ua_tui.core.doctor.child import run_checks_in_child

        try:
            async for check in (self._examine or run_checks_in_child)(self._settings):
                self._checks.append(check)
                self._show_checks()
        except UniversalAgentError as error:
            self._failure = str(error)
        self._testing = False
        self._show_checks()

    def _show_checks(self) -> None:
        text = texts.checks(
            self._checks, self._column, self.keys, running=self._testing, failure=self._failure
        )
        shown = self.query_one("#connections-checks", Static)
        shown.update(text)
        if self._following:
            # Unless the person scrolled elsewhere; their place is known only after the layout.
            self.call_after_refresh(shown.scroll_visible, animate=False, top=True)

    def action_scroll_details(self, pages: int) -> None:
        """Scroll the details, and follow the checks no longer."""
        self._following = False
        super().action_scroll_details(pages)
