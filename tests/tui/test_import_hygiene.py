"""What the first frame may import, proved in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "claude_agent_sdk", "composio", "logfire", "mcp", "httpx", "watchfiles", "trafilatura", "lxml",
    "html_to_markdown", "nh3", "starlette", "uvicorn", "pydantic", "markdown_it", "pygments", "core.session",
    "core.net", "core.tracing", "core.files", "zstandard",
    "tui.panes.conversation", "tui.panes.trace", "tui.panes.workspace",
)  # fmt: skip

FIRST_FRAME = """
import asyncio, sys
from core.settings import Settings
from tui.app import UaTuiApp

seen = []

class Watched(UaTuiApp):
    async def _after_first_frame(self):
        seen.extend(sys.modules)
        self.exit()

async def build(spawn):
    raise AssertionError("the session is built behind the first frame")

Watched(Settings(), build).run(headless=True)
assert "textual.app" in seen
print("\\n".join(seen))
"""


def test_nothing_heavy_is_imported_before_the_first_frame() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME], capture_output=True, text=True, timeout=60, check=True
    )
    imported = set(done.stdout.split())
    assert [name for name in HEAVY if name in imported] == []
