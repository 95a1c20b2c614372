"""The Composio stand-in: its REST API (v3.1) and its MCP server on one origin, for the real SDK and the real CLI."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

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
from starlette.types import Receive, Scope, Send

from ua_tui.core.demo.composio.accounts import CONNECTABLE, NO_AUTH, Account
from ua_tui.core.demo.composio.sandbox import Mounts
from ua_tui.core.demo.composio.services import RemoteSession, Services, ToolFailed
from ua_tui.core.demo.composio.tools import REMOTE_TOOLS, RemoteTool

SESSIONS = "/api/v3.1/tool_router/session"
MCP_PATH = "/tool_router/{session_id}/mcp"
VERSION = "20261101_00"
META_SLUGS = frozenset(tool.slug for tool in REMOTE_TOOLS)
Handler = Callable[[Request, RemoteSession], Awaitable[Response]]


class ComposioServer:
    """Handles the requests of `composio.create(mcp=True)`, its session and its MCP URL; requires `api_key`."""

    def __init__(self, services: Services, api_key: str, mounts: Mounts) -> None:
        self._services = services
        self._mounts = mounts
        self._api_key = api_key
        self._sessions: dict[str, RemoteSession] = {}
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
            Route(SESSIONS, self._create, methods=["POST"]),
            Route(one, self._with_session(self._describe), methods=["GET"]),
            Route(one, self._with_session(self._delete), methods=["DELETE"]),
            Route(one + "/attach", self._with_session(self._describe), methods=["POST"]),
            Route(one + "/tools", self._with_session(self._tools), methods=["GET"]),
            Route(one + "/toolkits", self._with_session(self._toolkits), methods=["GET"]),
            Route(one + "/execute", self._with_session(self._execute), methods=["POST"]),
            Route(one + "/execute_meta", self._with_session(self._execute_meta), methods=["POST"]),
            Route(one + "/link", self._with_session(self._link), methods=["POST"]),
            Route(
                one + "/mounts/files/download_url", self._with_session(self._download_url), methods=["POST"]
            ),
            Route(one + "/mounts/files/upload_url", self._with_session(self._upload_url), methods=["POST"]),
            self._mounts.storage_route(),
            Route("/api/v3.1/connected_accounts/{account_id}", self._connected_account, methods=["GET"]),
            Route("/link/{token}", self._open_link, methods=["GET"]),
            Route(MCP_PATH, _McpEndpoint(self)),
        ]

    def refusal(self, request: Request) -> Response | None:
        """The answer to a request with a wrong key or an unknown session; None if it is valid."""
        key = request.headers.get("x-api-key", "")
        if not secrets.compare_digest(key.encode(), self._api_key.encode()):
            return composio_error(401, "UNAUTHORIZED", "Invalid API key", "Check the x-api-key header.")
        session_id = request.path_params.get("session_id")
        if session_id is not None and session_id not in self._sessions:
            return composio_error(
                404, "NOT_FOUND", f"Session {session_id} not found", "Create a new session."
            )
        return None

    async def handle_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a valid MCP request to the protocol."""
        await self._manager.handle_request(scope, receive, send)

    def _with_session(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            refused = self.refusal(request)
            if refused is not None:
                return refused
            return await handler(request, self._sessions[request.path_params["session_id"]])

        return guarded

    async def _create(self, request: Request) -> Response:
        refused = self.refusal(request)
        if refused is not None:
            return refused
        body = await _json_object(request)
        if not body.get("user_id"):
            return composio_error(400, "INVALID_REQUEST", "user_id is required", "Pass the id of the user.")
        session = RemoteSession(f"trs_{secrets.token_urlsafe(9)}", str(body["user_id"]), body)
        self._sessions[session.id] = session
        return JSONResponse(_session(request, session), 201)

    async def _describe(self, request: Request, session: RemoteSession) -> Response:
        return JSONResponse(_session(request, session))

    async def _delete(self, request: Request, session: RemoteSession) -> Response:
        del self._sessions[session.id]
        self._mounts.forget(session.id)
        return JSONResponse({"session_id": session.id, "deleted": True})

    async def _tools(self, request: Request, session: RemoteSession) -> Response:
        items = [_tool(tool) for tool in REMOTE_TOOLS]
        page = {"current_page": 1, "total_pages": 1, "total_items": len(items), "next_cursor": None}
        return JSONResponse({**page, "items": items})

    async def _toolkits(self, request: Request, session: RemoteSession) -> Response:
        query = request.query_params
        slugs = [slug for names in query.getlist("toolkits") for slug in names.split(",")]
        items = [
            item
            for slug, name in (CONNECTABLE | NO_AUTH).items()
            if (not slugs or slug in slugs) and query.get("search", "").lower() in f"{slug} {name}".lower()
            for item in [self._toolkit(session, slug, name)]
        ]
        page = {"current_page": 1, "total_pages": 1, "total_items": len(items), "next_cursor": None}
        return JSONResponse({**page, "items": items})

    async def _execute(self, request: Request, session: RemoteSession) -> Response:
        body = await _json_object(request)
        slug = str(body.get("tool_slug"))
        if slug in META_SLUGS:
            return await self._run_meta(session, slug, body)
        log_id = f"log_{secrets.token_urlsafe(9)}"
        try:
            data = await self._services.execute(session, slug, body.get("arguments") or {})
        except ToolFailed as error:
            return JSONResponse({"data": {}, "error": str(error), "log_id": log_id, "result_type": "failed"})
        return JSONResponse({"data": data, "error": None, "log_id": log_id, "result_type": "completed"})

    async def _execute_meta(self, request: Request, session: RemoteSession) -> Response:
        body = await _json_object(request)
        slug = str(body.get("slug"))
        if slug not in META_SLUGS:
            return composio_error(404, "NOT_FOUND", f"Tool {slug} not found", "Ask for the list of tools.")
        return await self._run_meta(session, slug, body)

    async def _run_meta(self, session: RemoteSession, slug: str, body: Mapping[str, Any]) -> Response:
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

    async def _link(self, request: Request, session: RemoteSession) -> Response:
        toolkit = str((await _json_object(request)).get("toolkit", "")).lower()
        if toolkit not in CONNECTABLE:
            return composio_error(
                404, "NOT_FOUND", f"Toolkit {toolkit} not found", "Ask for the list of toolkits."
            )
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

    async def _download_url(self, request: Request, session: RemoteSession) -> Response:
        found = self._mounts.presign(request, session.id, await _json_object(request), "GET")
        return found or composio_error(
            404, "NOT_FOUND", "File not found in the mount", "Ask for the list of files."
        )

    async def _upload_url(self, request: Request, session: RemoteSession) -> Response:
        answer = self._mounts.presign(request, session.id, await _json_object(request), "PUT")
        assert answer is not None, "any file can be written"
        return answer

    async def _connected_account(self, request: Request) -> Response:
        refused = self.refusal(request)
        if refused is not None:
            return refused
        account = self._services.connections.accounts.get(request.path_params["account_id"])
        if account is None:
            return composio_error(404, "NOT_FOUND", "Connected account not found", "Connect it first.")
        return JSONResponse(_account(account))

    async def _open_link(self, request: Request) -> Response:
        """Replaces the page at connect.composio.dev; opening it gives consent."""
        account = self._services.connections.open_link(request.path_params["token"])
        if account is None:
            return HTMLResponse(
                "<!doctype html><title>Demo</title><p>This link is unknown or expired.</p>", 404
            )
        name = CONNECTABLE[account.toolkit]
        return HTMLResponse(
            f"<!doctype html><title>Demo</title><p>{name} is connected. You may close this page.</p>"
        )

    def _toolkit(self, session: RemoteSession, slug: str, name: str) -> dict[str, Any]:
        account = self._services.connections.account(session.user_id, slug)
        connected = None
        if account is not None:
            connected = {
                "id": account.id,
                "status": account.status,
                "user_id": account.user_id,
                "created_at": _stamp(account.created_at),
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


class _McpEndpoint:
    """Checks the key and the session of an MCP request; an ASGI application, so that its path has no slash."""

    def __init__(self, server: ComposioServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._server.refusal(Request(scope, receive))
        if refused is not None:
            await refused(scope, receive, send)
        else:
            await self._server.handle_mcp(scope, receive, send)


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


async def _json_object(request: Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.body() or b"{}")
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _session(request: Request, session: RemoteSession) -> dict[str, Any]:
    settings = session.settings
    config: dict[str, Any] = {
        "user_id": session.user_id,
        "execute": {"enable_multi_execute": True},
        "search": {"enable": True},
        "preload": {"tools": []},
        "instant": False,
        "manage_connections": {"enabled": _flag(settings.get("manage_connections"), "enable")},
        "workbench": {"enable": True, "proxy_execution_enabled": True, "auto_offload_threshold": 20_000},
    }
    toolkits = settings.get("toolkits")
    if isinstance(toolkits, dict):
        config["toolkits"] = {f"{key}d": toolkits[key] for key in ("enable", "disable") if key in toolkits}
    return {
        "session_id": session.id,
        "config_version": 1,
        "config": config,
        "mcp": {"type": "http", "url": f"{request.base_url}tool_router/{session.id}/mcp"},
        "tool_router_tools": [tool.slug for tool in REMOTE_TOOLS],
    }


def _flag(settings: Any, key: str) -> bool:
    return bool(settings.get(key, True)) if isinstance(settings, Mapping) else True


def _tool(tool: RemoteTool) -> dict[str, Any]:
    toolkit = {"slug": "composio", "name": "Composio", "logo": ""}
    return {
        "slug": tool.slug,
        "name": tool.title,
        "description": tool.description,
        "input_parameters": dict(tool.schema),
        "output_parameters": {},
        "available_versions": [VERSION],
        "version": VERSION,
        "tags": [],
        "scopes": [],
        "no_auth": True,
        "is_deprecated": False,
        "deprecated": {
            "available_versions": [],
            "displayName": tool.title,
            "is_deprecated": False,
            "toolkit": {"logo": ""},
            "version": VERSION,
        },
        "toolkit": toolkit,
    }


def _account(account: Account) -> dict[str, Any]:
    value: dict[str, Any] = {"status": account.status, "redirectUrl": account.redirect_url}
    created = _stamp(account.created_at)
    return {
        "id": account.id,
        "user_id": account.user_id,
        "status": account.status,
        "status_reason": None,
        "is_disabled": False,
        "word_id": account.id,
        "alias": None,
        "created_at": created,
        "updated_at": created,
        "toolkit": {"slug": account.toolkit},
        "auth_config": {
            "id": f"ac_{account.toolkit}",
            "auth_scheme": "OAUTH2",
            "is_composio_managed": True,
            "is_disabled": False,
        },
        "state": {"authScheme": "OAUTH2", "val": value},
        "data": {},
        "params": {},
        "test_request_endpoint": "",
    }


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
