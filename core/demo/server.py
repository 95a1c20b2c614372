"""The demo's one web server: the model, Composio and the invented press, distinguished by host and path."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Host, Router

from ua_tui.core.demo.composio.server import ComposioServer, Mounts, sandbox_files
from ua_tui.core.demo.composio.services import Services
from ua_tui.core.demo.model import ModelServer, Script, api_error
from ua_tui.core.demo.playbook import Pace, load_library
from ua_tui.core.demo.press import DOMAIN, ArticlePages, load_catalogue

ARTICLES = "articles.json"


def make_server(pace: float) -> tuple[Starlette, str]:
    """Build the demo's server from the data files; returns it, and the key that its Composio stand-in requires."""
    library = load_library()
    speed = Pace(pace)
    catalogue = load_catalogue(library.texts[ARTICLES], datetime.now(UTC))
    api_key = f"ak_demo{secrets.token_hex(12)}"
    composio = ComposioServer(Services(library, catalogue, speed), api_key, Mounts(sandbox_files()))
    model = ModelServer(Script(library), speed)
    pages = ArticlePages(catalogue, speed)

    server = Starlette(
        routes=[
            Host("127.0.0.1", Router([*model.routes(), *composio.routes()])),
            Host("{host}" + DOMAIN, Router(pages.routes())),
        ],
        exception_handlers={404: _unknown},
        lifespan=lambda _app: composio.running(),
    )
    return server, api_key


async def _unknown(request: Request, error: Exception) -> Response:
    return api_error(404, "not_found_error", "Not found")
