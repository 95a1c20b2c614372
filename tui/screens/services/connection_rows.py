"""The text of the connections screen: servers, credentials, targets and checks."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from textual.content import Content

from ua_tui.core.connections.base import COMPOSIO
from ua_tui.core.connections.toolkit import SERVER as TOOLKIT
from ua_tui.core.connections.user_servers import UserServer
from ua_tui.core.connections.web_reader import SERVER as WEB_READER
from ua_tui.core.doctor.findings import Check, can_start
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import McpServer
from ua_tui.core.provider.credentials import Credential
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.export_errors import Destination
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.keys.keymap import Keys
from ua_tui.tui.render.format import middle_cut
from ua_tui.tui.screens.services.row_screen import MUTED, field, hanging
from ua_tui.tui.widgets.column_list import Column

ORIGINS = {TOOLKIT: "local toolkit", COMPOSIO: "Composio", WEB_READER: "Z.AI"}
_LONGEST_ERROR = 2_000


@dataclass(frozen=True)
class State:
    """A state as a mark, a word with the same meaning, and a style."""

    mark: str
    word: str
    style: str


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_ORDER: Sequence[str] = _TABLES["order"].split()
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


def columns(width: int) -> Sequence[Column[McpServer]]:
    """The columns of the servers."""
    others: list[Column[McpServer]] = [
        Column("state", 21, lambda server: state_of(server).word, lambda server: state_of(server).style),
        Column("tools", 5, _tools, MUTED, right=True),
        Column("from", 14, origin, MUTED),
    ]
    room = max(8, min(40, width - 3 - sum(each.width + each.gap for each in others)))
    name = Column[McpServer]("server", room, lambda server: clean_line(server.name), gap=0, cut=middle_cut)
    return [name, *others]


def about_server(
    server: McpServer | None, width: int, keys: Keys, definition: UserServer | None = None
) -> Content:
    """Lay out the details of a server: its state, its tools, its error.

    `definition` is that of a custom server.
    """
    if server is None:
        return Content.styled("No servers: the agent has not started yet.", MUTED)
    state = state_of(server)
    lines = [
        Content.assemble(
            (clean_line(server.name), "bold"),
            (f"  {state.mark} {state.word}", state.style),
            (f" · {origin(server)}", MUTED),
        )
    ]
    if definition is not None:
        starts = "starts" if definition.transport == "stdio" else f"opens, {definition.transport}"
        lines.append(field(starts, clean_line(Redactor().redact(definition.target), _LONGEST_ERROR), width))
        lines.append(field("defined in", clean_line(definition.source, _LONGEST_ERROR), width))
    if server.tool_names:
        names = ", ".join(tool_name(f"mcp__{server.name}__{name}").short for name in server.tool_names)
        lines.append(field("tools", names, width))
    elif server.status == "connected":
        lines.append(field("tools", f"{server.tools:,}" if server.tools else "none", width))
    if server.status in ("off", "untrusted"):
        lines.append(Content(_whole(server.error or "Not set up.")))
    elif server.error and not (server.status == "needs-auth" and definition is not None):
        lines.append(field("error", _whole(server.error), width, "$error"))
    elif server.last_error:
        lines.append(field("last error", _whole(server.last_error), width))
    if todo := _todo(server, keys, definition):
        lines.append(Content.styled(todo, MUTED))
    return Content("\n").join(lines)


def credentials(
    found: Sequence[Credential],
    width: int,
    *,
    model: str | None,
    servers: dict[str, str],
    traces: Sequence[str],
    trace: str = "",
    problems: Mapping[Destination, str] | None = None,
    demo: bool,
) -> Content:
    """Which credentials there are and where they are from, which server and model they are for, and where traces go.

    `trace` is the address or the id of the session's own, and `problems` says why spans do not reach the collector
    (True) or Logfire (False).
    """
    lines = [Content.styled("Credentials", "bold")]
    if demo:
        lines.append(Content.styled("The demo uses its own test keys. Yours are not used.", MUTED))
    room = max((len(each.name) for each in found), default=0)
    for each in found:
        mark, style = ("✓", "$success") if each.found else ("·", MUTED)
        head = Content.assemble((f"{mark} ", style), f"{each.name:<{room}}  ")
        lines.append(hanging(head, each.place or "missing", width, MUTED))
    reach = {"Model": f"{clean_line(model or 'default model')} at {servers['model']}"}
    reach["Composio"] = servers["composio"]
    if demo:
        reach = {"Model": "scripted, on this machine", "Composio": "simulated, on this machine"}
    reach["Traces"] = "; ".join(_target(each, problems or {}) for each in traces)
    if trace:
        reach["Trace"] = trace
    lines += [Content(""), Content.styled("Targets", "bold")]
    label = max(map(len, reach))
    lines += [field(f"{name:<{label}}", text, width) for name, text in reach.items()]
    return Content("\n").join(lines)


def _target(target: str, problems: Mapping[Destination, str]) -> str:
    """Return where spans go, with the reason if they do not arrive."""
    destination: Destination | None = None
    if target.startswith("OTLP"):
        destination = "collector"
    elif target.startswith("Logfire"):
        destination = "logfire"
    why = problems.get(destination) if destination is not None else None
    return f"✗ {target}: {clean_line(why, 300)}" if why else target


def checks(done: Iterable[Check], width: int, keys: Keys, *, running: bool, failure: str = "") -> Content:
    """Lay out the checks so far in their order, and at the end whether a session can start."""
    listed = sorted(done, key=lambda check: _ORDER.index(check.name) if check.name in _ORDER else len(_ORDER))
    lines = [Content.styled("Tests", "bold")]
    if not (listed or running or failure):
        lines.append(
            Content.styled(
                f"{keys.shown('connections.test')} tests each of these with one small request.", MUTED
            )
        )
    room = max((cell_len(check.title) for check in listed), default=0)
    for check in listed:
        state = _CHECKED[check.status]
        head = Content.assemble((f"{state.mark} ", state.style), f"{check.title:<{room}}  ")
        lines.append(hanging(head, check.found, width, MUTED))
        if check.advice and check.status != "ok":
            arrow = Content.assemble(" " * (room + 4), ("→ ", state.style))
            lines.append(hanging(arrow, check.advice, width))
    if running:
        lines.append(Content.styled("… testing", "$accent"))
    elif failure:
        lines.append(Content.styled(f"✗ {clean_line(failure, 400)}", "$error"))
    elif listed:
        could = can_start(listed)
        verdict = "✓ A session can start." if could else "✗ A session can't start: fix the lines with ✗."
        lines.append(Content.styled(verdict, "$success" if could else "$error"))
    return Content("\n").join(lines)


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
            return (
                f"Press {keys.shown('connections.log_in')} to log in in the browser, {switch} to disable it."
            )
        case "needs-auth":
            return f"Sign in at the service, then press {again} to reconnect."
        case "disabled":
            return f"The agent does not see its tools. Press {switch} to enable it."
        case _:
            return ""


def _tools(server: McpServer) -> str:
    return "–" if server.tools is None or server.status != "connected" else f"{server.tools:,}"
