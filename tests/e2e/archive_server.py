"""A search as an MCP server that finds as much as it is asked for, and records with pictures, sounds and files."""

from __future__ import annotations

import base64
import io
import json
import wave
from typing import Any

from mcp.server import MCPServer
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from PIL import Image

server = MCPServer[None]("archive", log_level="ERROR")

KEY = "sk-ant-api03-0123456789abcdefghij"
PAGE = f"<p>api_key={KEY}</p><script>alert(1)</script>".encode()


@server.tool(structured_output=False)
async def web_search(query: str, rows: int) -> str:
    """Search the archive; each row takes about half a kilobyte."""
    found = [
        {
            "position": number,
            "title": f"Finding {number} about {query}",
            "link": f"https://site-{number % 37}.example/{number}?signature=0123456789abcdef",
            "snippet": "What was found in the archive, told once more. " * 8,
            "date": f"{number % 23 + 1} hours ago",
        }
        for number in range(1, rows + 1)
    ]
    return json.dumps({"organic_results": found})


@server.tool(structured_output=False)
async def record(lines: int) -> list[Any]:
    """All measurements, one to a line, with their chart, a sound, files of several kinds, and the link to another."""
    text = "\n".join(f"measurement {number}: {number * 7 % 1000} units" for number in range(lines))
    return [
        TextContent(type="text", text=f"api_key={KEY}\n{text}"),
        ImageContent(type="image", data=_encoded(picture()), mime_type="image/png"),
        AudioContent(type="audio", data=_encoded(sound()), mime_type="image/../../etc"),
        _file("file:///x/../../.bashrc", "text/html", PAGE),
        _file("https://files.example/Chart%202026.svg?sig=abc", "image/svg+xml", picture()),
        ResourceLink(type="resource_link", uri="https://files.example/big.mp4", name="big.mp4"),
    ]


def picture() -> bytes:
    """A PNG of 120 by 80 pixels."""
    file = io.BytesIO()
    Image.linear_gradient("L").resize((120, 80)).convert("RGB").save(file, "PNG")
    return file.getvalue()


def sound() -> bytes:
    """A WAV file of a quarter of a second."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(1)
        writer.setframerate(8_000)
        writer.writeframes(bytes(range(200)) * 10)
    return file.getvalue()


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _file(uri: str, kind: str, data: bytes) -> EmbeddedResource:
    content = BlobResourceContents(uri=uri, mime_type=kind, blob=_encoded(data))
    return EmbeddedResource(type="resource", resource=content)


if __name__ == "__main__":
    server.run()
