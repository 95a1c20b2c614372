"""Z.AI's web reader: an MCP server over HTTP that reads single pages, including pages that block crawlers."""

from __future__ import annotations

from ua_tui.core.connections.base import Connection
from ua_tui.core.settings.model import Settings

SERVER = "web_reader"
URL = "https://api.z.ai/api/mcp/web_reader/mcp"


def web_reader_connection(settings: Settings) -> Connection:
    """The server with the key of the settings; without one the connection is empty and its note says so."""
    key = settings.web_reader_key
    if not key:
        return Connection(note="The web reader is off: set Z_AI_API_KEY to read pages that block crawlers.")
    headers = {"Authorization": f"Bearer {key}"}
    url = settings.web_reader_url or URL
    return Connection(servers={SERVER: {"type": "http", "url": url, "headers": headers}}, secrets=(key,))
