"""The Composio stand-in: its REST API (v3.1) and its MCP server on one origin, for the real SDK and the real CLI."""

from __future__ import annotations

import json
import mimetypes
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import msgspec
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ua_tui.core.demo.composio.services import (
    CONNECTABLE,
    NO_AUTH,
    DemoRemoteSession,
    Services,
)
from ua_tui.core.demo.composio.tools import REMOTE_TOOLS
from ua_tui.core.json_values import JsonMapping, JsonObject, object_in, table_of

SESSIONS = "/api/v3.1/tool_router/session"
MCP_PATH = "/tool_router/{session_id}/mcp"
Handler = Callable[[Request], Awaitable[ASGIApp]]
SessionHandler = Callable[[Request, DemoRemoteSession], Awaitable[Response]]

_SAME: dict[str, JsonObject] = table_of(__file__, "answers.json")
"""What is the same in every answer about a session, a tool, an account, or a list."""


class ComposioServer:
    """Handles the requests of `composio.create(mcp=True)`, its session and its MCP URL; requires `api_key`."""

    def __init__(self, services: Services, api_key: str, mounts: Mounts) -> None:
        self._services = services
        self._mounts = mounts
        self._api_key = api_key
        self._sessions: dict[str, DemoRemoteSession] = {}
        server: Server[Any] = Server("composio", on_list_tools=self._list_tools, on_call_tool=self._call_tool)
        self._manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the MCP server; enter it once, for the lifetime of the web server."""
        async with self._manager.run():
            yield

    def routes(self) -> list[Route]:
        """The routes of the REST API, of the MCP server, and of the page that a link leads to."""
        one = SESSIONS + "/{session_id}"
        return [
            Route(SESSIONS, self._guarded(self._create), methods=["POST"]),
            Route(one, self._with_session(self._describe), methods=["GET"]),
            Route(one, self._with_session(self._delete), methods=["DELETE"]),
            Route(one + "/attach", self._with_session(self._describe), methods=["POST"]),
            Route(one + "/tools", self._with_session(self._tools), methods=["GET"]),
            Route(one + "/toolkits", self._with_session(self._toolkits), methods=["GET"]),
            Route(one + "/execute", self._with_session(self._execute), methods=["POST"]),
            Route(one + "/execute_meta", self._with_session(self._execute), methods=["POST"]),
            Route(one + "/link", self._with_session(self._link), methods=["POST"]),
            Route(one + "/mounts/files/{way}_url", self._with_session(self._transfer_url), methods=["POST"]),
            Route("/storage/{session_id}/{path:path}", self._mounts.stored, methods=["GET", "PUT"]),
            Route(
                "/api/v3.1/connected_accounts/{account_id}",
                self._guarded(self._connected_account),
                methods=["GET"],
            ),
            Route("/link/{token}", self._open_link, methods=["GET"]),
            Route(MCP_PATH, self._guarded(self._mcp), methods=["GET", "POST", "DELETE"]),
        ]

    def _guarded(self, handler: Handler) -> Handler:
        """Handle only requests with the key and, if they name a session, with a known one."""

        async def guarded(request: Request) -> ASGIApp:
            key = request.headers.get("x-api-key", "")
            if not secrets.compare_digest(key.encode(), self._api_key.encode()):
                return composio_error(401, "UNAUTHORIZED", "Invalid API key", "Check the x-api-key header.")
            session_id = request.path_params.get("session_id")
            if session_id is not None and session_id not in self._sessions:
                return not_found(f"Session {session_id}", "Create a new session.")
            return await handler(request)

        return guarded

    def _with_session(self, handler: SessionHandler) -> Handler:
        return self._guarded(
            lambda request: handler(request, self._sessions[request.path_params["session_id"]])
        )

    async def _mcp(self, request: Request) -> ASGIApp:
        return self._manager.handle_request

    async def _create(self, request: Request) -> Response:
        body = await _json_object(request)
        session = DemoRemoteSession(f"trs_{secrets.token_urlsafe(9)}", str(body["user_id"]), body)
        self._sessions[session.id] = session
        return JSONResponse(_session(request, session), 201)

    async def _describe(self, request: Request, session: DemoRemoteSession) -> Response:
        return JSONResponse(_session(request, session))

    async def _delete(self, request: Request, session: DemoRemoteSession) -> Response:
        del self._sessions[session.id]
        self._mounts.forget(session.id)
        return JSONResponse({"session_id": session.id, "deleted": True})

    async def _tools(self, request: Request, session: DemoRemoteSession) -> Response:
        return _page(
            [
                {
                    **_SAME["tool"],
                    "slug": tool.slug,
                    "name": tool.title,
                    "description": tool.description,
                    "input_parameters": dict(tool.schema),
                }
                for tool in REMOTE_TOOLS
            ]
        )

    async def _toolkits(self, request: Request, session: DemoRemoteSession) -> Response:
        slugs = [slug for names in request.query_params.getlist("toolkits") for slug in names.split(",")]
        return _page(
            [
                self._toolkit(session, slug, name)
                for slug, name in (CONNECTABLE | NO_AUTH).items()
                if not slugs or slug in slugs
            ]
        )

    async def _execute(self, request: Request, session: DemoRemoteSession) -> Response:
        body = await _json_object(request)
        slug = str(body.get("tool_slug") or body["slug"])
        answer = await self._services.call(session, slug, body.get("arguments") or {})
        content = answer.content if isinstance(answer.content, dict) else {"data": {"result": answer.content}}
        error = content.get("error") or (answer.text if answer.failed else None)
        return JSONResponse(
            {
                "data": content.get("data", {}),
                "error": error,
                "log_id": content.get("log_id", f"log_{secrets.token_urlsafe(9)}"),
                "result_type": "failed" if error else "completed",
            }
        )

    async def _link(self, request: Request, session: DemoRemoteSession) -> Response:
        toolkit = str((await _json_object(request)).get("toolkit", "")).lower()
        if toolkit not in CONNECTABLE:
            return not_found(f"Toolkit {toolkit}", "Ask for the list of toolkits.")
        account = self._services.connections.initiate(session.user_id, toolkit)
        return JSONResponse(
            {
                "connected_account_id": account.id,
                "link_token": account.link_token,
                # Unlike the one of the tools, which only a person's browser opens, this one leads here.
                "redirect_url": f"{request.base_url}link/{account.link_token}",
            },
            201,
        )

    async def _transfer_url(self, request: Request, session: DemoRemoteSession) -> Response:
        method = "PUT" if request.path_params["way"] == "upload" else "GET"
        found = self._mounts.presign(request, session.id, await _json_object(request), method)
        return found or not_found("The file", "Ask for the list of files.")

    async def _connected_account(self, request: Request) -> Response:
        account = self._services.connections.accounts.get(request.path_params["account_id"])
        if account is None:
            return not_found("Connected account", "Connect it first.")
        created = stamp(account.created_at)
        value = {"status": account.status, "redirectUrl": account.redirect_url}
        return JSONResponse(
            {
                **_SAME["account"],
                "id": account.id,
                "user_id": account.user_id,
                "status": account.status,
                "word_id": account.id,
                "created_at": created,
                "updated_at": created,
                "toolkit": {"slug": account.toolkit},
                "state": {"authScheme": "OAUTH2", "val": value},
            }
        )

    async def _open_link(self, request: Request) -> Response:
        """Replaces the page of the service where an account is connected; opening it gives consent."""
        account = self._services.connections.open_link(request.path_params["token"])
        text = "This link is unknown or expired."
        if account is not None:
            text = f"{CONNECTABLE[account.toolkit]} is connected. You may close this page."
        page = f"<!doctype html><title>Demo</title><p>{text}</p>"
        return HTMLResponse(page, 404 if account is None else 200)

    def _toolkit(self, session: DemoRemoteSession, slug: str, name: str) -> JsonObject:
        account = self._services.connections.account(session.user_id, slug)
        connected = None
        if account is not None:
            connected = {
                "id": account.id,
                "status": account.status,
                "user_id": account.user_id,
                "created_at": stamp(account.created_at),
                "auth_config": {"id": f"ac_{slug}", "auth_scheme": "OAUTH2", "is_composio_managed": True},
            }
        return {
            "slug": slug,
            "name": name,
            "enabled": True,
            "is_no_auth": slug in NO_AUTH,
            "composio_managed_auth_schemes": [] if slug in NO_AUTH else ["OAUTH2"],
            "meta": {"description": f"{name}, as the demo plays it", "logo": ""},
            "connected_account": connected,
        }

    async def _list_tools(self, context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(
                    name=tool.slug,
                    title=tool.title,
                    description=tool.description,
                    input_schema=dict(tool.schema),
                    annotations=ToolAnnotations(read_only_hint=tool.read_only, open_world_hint=True),
                )
                for tool in REMOTE_TOOLS
            ]
        )

    async def _call_tool(self, context: Any, params: CallToolRequestParams) -> CallToolResult:
        session = self._sessions[context.request.path_params["session_id"]]
        answer = await self._services.call(session, params.name, dict(params.arguments or {}))
        return CallToolResult(content=[TextContent(type="text", text=answer.text)], is_error=answer.failed)


def composio_error(status: int, slug: str, message: str, fix: str) -> Response:
    """An error in the shape of the Composio API."""
    error = {
        "message": message,
        "code": 10_000 + status,
        "slug": slug,
        "status": status,
        "request_id": secrets.token_hex(8),
        "suggested_fix": fix,
    }
    return JSONResponse({"error": error}, status)


def not_found(what: str, fix: str) -> Response:
    """The error that something does not exist."""
    return composio_error(404, "NOT_FOUND", f"{what} not found", fix)


def _page(items: list[JsonObject]) -> Response:
    return JSONResponse({**_SAME["page"], "total_items": len(items), "items": items})


async def _json_object(request: Request) -> JsonObject:
    body: JsonObject = json.loads(await request.body() or b"{}")
    return body


def _session(request: Request, session: DemoRemoteSession) -> JsonObject:
    settings = session.settings
    manages = bool(object_in(settings, "manage_connections").get("enable", True))
    config = {**_SAME["session"], "user_id": session.user_id, "manage_connections": {"enabled": manages}}
    if toolkits := object_in(settings, "toolkits"):
        config["toolkits"] = {f"{key}d": toolkits[key] for key in ("enable", "disable") if key in toolkits}
    return {
        "session_id": session.id,
        "config_version": 1,
        "config": config,
        "mcp": {"type": "http", "url": f"{request.base_url}tool_router/{session.id}/mcp"},
        "tool_router_tools": [tool.slug for tool in REMOTE_TOOLS],
    }


PREFIX = "/mnt/files"
RECORDED = ("revenue.csv", "outputs/monthly_revenue.png")
LIFETIME = timedelta(minutes=15)


def sandbox_files() -> Mapping[str, bytes]:
    """The files of a new session: a table of revenue, and its chart."""
    folder = files("ua_tui.core.demo.composio").joinpath("files")
    return {name: folder.joinpath(name).read_bytes() for name in RECORDED}


class Mounts(msgspec.Struct, eq=False):
    """The mount `files` of every session: its files by session and path; a new session has the `recorded` ones."""

    recorded: Mapping[str, bytes]
    _files: dict[str, dict[str, bytes]] = {}

    def files(self, session_id: str) -> dict[str, bytes]:
        """The files of a session by path below the mount."""
        if session_id not in self._files:
            self._files[session_id] = dict(self.recorded)
        return self._files[session_id]

    def forget(self, session_id: str) -> None:
        """Drop the files of a deleted session."""
        self._files.pop(session_id, None)

    def presign(self, request: Request, session_id: str, body: JsonMapping, method: str) -> Response | None:
        """Answer with an address to write or read a file; None if the file to read does not exist."""
        path = str(body.get("mount_relative_path", ""))
        if method == "GET" and path not in self.files(session_id):
            return None
        name = "download_url" if method == "GET" else "upload_url"
        return JSONResponse(
            {
                name: f"{request.base_url}storage/{session_id}/{quote(path)}",
                "expires_at": stamp(datetime.now(UTC) + LIFETIME),
                "mount_relative_path": path,
                "sandbox_mount_prefix": PREFIX,
            }
        )

    async def stored(self, request: Request) -> Response:
        """Answer at a presigned address, which needs no key."""
        files, path = self.files(request.path_params["session_id"]), request.path_params["path"]
        if request.method == "PUT":
            files[path] = await request.body()
            return Response(status_code=200)
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return Response(files[path], media_type=kind)


def stamp(moment: datetime) -> str:
    """A moment as the API writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
