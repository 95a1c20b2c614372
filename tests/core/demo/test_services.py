from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.demo.composio.services import DemoRemoteSession, Services
from ua_tui.core.demo.playbook import Pace, load_library
from ua_tui.core.demo.press import Catalogue, load_catalogue
from ua_tui.core.media_types import media_type

# Above this the agent's command line keeps a result in a file and shows its beginning.
CLI_LIMIT = 50_000
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def catalogue() -> Catalogue:
    return load_catalogue(load_library().texts["articles.json"], NOW)


@pytest.fixture
def services(catalogue: Catalogue) -> Services:
    return Services(load_library(), catalogue, Pace(0))


@pytest.fixture
def session() -> DemoRemoteSession:
    return DemoRemoteSession("trs_test", "somebody", {})


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def execute(services: Services, session: DemoRemoteSession, slug: str, **arguments: Any) -> Any:
    tools = [{"tool_slug": slug, "arguments": arguments}]
    return json.loads((await services.call(session, "COMPOSIO_MULTI_EXECUTE_TOOL", {"tools": tools})).text)


async def test_news_with_excerpts_is_more_than_cli_shows(
    services: Services, session: DemoRemoteSession
) -> None:
    answer = await execute(services, session, "COMPOSIO_SEARCH_NEWS", query="AI chips", include_excerpts=True)
    data = answer["data"]["results"][0]["response"]["data"]
    assert len(data["news_results"]) == 25
    assert len(json.dumps(answer)) > 70_000 > CLI_LIMIT
    assert data["news_results"][0]["published_at"].startswith("2026-11-")


async def test_an_unknown_tool_or_code_fails_alone(services: Services, session: DemoRemoteSession) -> None:
    tools = [
        {"tool_slug": "NO_SUCH_TOOL", "arguments": {}},
        {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "racks"}},
    ]
    answer = json.loads((await services.call(session, "COMPOSIO_MULTI_EXECUTE_TOOL", {"tools": tools})).text)
    assert answer["successful"] is False
    assert answer["data"]["results"][0]["error"] == "Tool NO_SUCH_TOOL not found"
    assert len(answer["data"]["results"][1]["response"]["data"]["citations"]) == 10
    answer = await services.call(session, "COMPOSIO_REMOTE_WORKBENCH", {"code_to_execute": "print(1)"})
    data = json.loads(answer.text)
    assert data["successful"] is False
    assert "runs nothing" in data["data"]["stderr"]


@pytest.mark.parametrize(
    "name", ["downloads/clip.html", "clip.mp4", "downloads/../clip.mp4", "missing/downloads/clip.mp4"]
)
async def test_clip_goes_nowhere_but_into_downloads(
    services: Services, session: DemoRemoteSession, tmp_path: Path, name: str
) -> None:
    (tmp_path / "downloads").mkdir()
    answer = await services.call(session, "trim_video", {"output_path": f"{tmp_path}/{name}"})
    assert answer.failed
    assert sorted(files_under(tmp_path)) == []


async def test_clip_never_replaces_a_file(
    services: Services, session: DemoRemoteSession, tmp_path: Path
) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    arguments = {"output_path": str(folder / "clip.mp4")}
    first = await services.call(session, "trim_video", arguments)
    second = await services.call(session, "trim_video", arguments)
    assert first.text == f"Video trimmed successfully to {folder / 'clip.mp4'}"
    assert second.text == f"Video trimmed successfully to {folder / 'clip-2.mp4'}"
    data = (folder / "clip.mp4").read_bytes()
    assert (folder / "clip-2.mp4").read_bytes() == data
    assert media_type(data) == "video"


def test_every_link_between_playbooks_and_articles_exists(catalogue: Catalogue) -> None:
    for recording in load_library().recordings("COMPOSIO_SEARCH_WEB"):
        for citation in recording.result["citations"]:
            host, _, path = citation["url"].removeprefix("https://").partition("/")
            assert catalogue.find(host, f"/{path}") is not None, citation["url"]
    assert all(article.host.endswith(".example") for article in catalogue.articles)
