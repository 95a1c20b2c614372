"""Sessions on the disk for tests of what they have read: a journal and artifacts, as observers leave them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.events.types import ArtifactSaved, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import (
    AnyObservation,
    CrawlObservation,
    FileWriteObservation,
    McpObservation,
    TextContent,
)

REPORT = "work_products/report.html"
CRAWL = "mcp__local_toolkit__crawl_parallel"
SEARCH = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
WRITE = "mcp__local_toolkit__write_local_file"
READ = "mcp__local_toolkit__read_local_file"
TIME = "2026-03-10T12:00:30+00:00"


def crawled_page(url: str, text: str, title: str = "A page", **more: Any) -> dict[str, Any]:
    """The content of an article's file."""
    return {
        "type": "article", "url": url, "title": title, "author": None, "source": None, "date": "2026-03-01",
        "words": len(text.split()), "timestamp": TIME, "tool": "crawl_parallel", "tool_use_id": "toolu_crawl",
        "content": text, **more,
    }  # fmt: skip


class ReadSession(Recorded):
    """A session to which results and files are added as the program would."""

    def __init__(self, base: Path, name: str = "session_20260310_120000") -> None:
        super().__init__(base, name)
        self._calls = 0

    def call(self, tool: str, given: dict[str, Any], text: str | Sequence[str] = "", **more: Any) -> str:
        """Record a call that succeeded and its result; gives its id."""
        self._calls += 1
        use = f"toolu_{self._calls}"
        texts = [text] if isinstance(text, str) else text
        content = tuple(map(TextContent, texts))
        kind: type[AnyObservation] = more.pop("kind", McpObservation)
        facts = {"tool_name": tool, "tool_use_id": use, "content": content, **more}
        if issubclass(kind, McpObservation):
            facts["server"] = "some"
        status: Literal["success", "error"] = "error" if facts.get("error") else "success"
        self.add(
            ToolCallStarted(query_id="q1", tool_use_id=use, name=tool, input=given),
            ToolCallFinished(tool_use_id=use, status=status, observation=kind(**facts)),
        )
        return use

    def save(self, path: str, content: str | bytes | dict[str, Any], kind: str, use: str = "") -> Path:
        """Write a file and record that an observer saved it."""
        if isinstance(content, dict):
            content = json.dumps(content)
        data = content.encode() if isinstance(content, str) else content
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        self.add(
            ArtifactSaved(
                path=path,
                kind=kind,
                size=len(data),
                sha256=hashlib.sha256(data).hexdigest(),
                observer="tests",
                tool_use_id=use or None,
            )
        )
        return file

    def crawl(self, *pages: tuple[str, str], failed: Sequence[tuple[str, str]] = ()) -> list[Path]:
        """Record a crawl of pages, each with its address and text; gives the files of the articles."""
        answer = {
            "articles": [{"title": "A page", "url": url, "path": f"search_results/crawl_{at}.md", "words": 9}
                         for at, (url, _) in enumerate(pages)],
            "failed": [{"url": url, "error": error, "code": "http_404"} for url, error in failed],
            "saved": len(pages),
        }  # fmt: skip
        urls = [url for url, _ in (*pages, *failed)]
        use = self.call(CRAWL, {"urls": urls}, json.dumps(answer), kind=CrawlObservation)
        return [
            self.save(
                f"extracted_articles/{use}_{at}.json",
                crawled_page(url, text, tool_use_id=use),
                "article",
                use,
            )
            for at, (url, text) in enumerate(pages)
        ]

    def search(self, *rows: dict[str, Any], **more: Any) -> Path:
        """Record a search with these rows."""
        tools = [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "smiling animals"}}]
        use = self.call(SEARCH, {"tools": tools}, json.dumps({"data": rows}))
        content = {"type": "web", "query": "smiling animals", "timestamp": TIME, "tool_use_id": use, **more}
        return self.save(
            f"search_results/{use}.json", {**content, "results": list(rows)}, "search_results", use
        )

    def write(self, path: str, text: str) -> Path:
        """Record that the agent wrote a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.call(WRITE, {"path": path, "content": text}, "{}", kind=FileWriteObservation, path=path)
        return file

    def read(self, path: str, text: str) -> None:
        """Record that the agent read a file."""
        self.call(READ, {"path": path}, text)
