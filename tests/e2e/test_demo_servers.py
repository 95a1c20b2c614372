"""The servers of the demo as a process: how they end, and what they refuse; sessions of the demo use the rest."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from tests.waiting import PATIENCE
from ua_tui.core.demo.launch import DemoEndpoints, _environment, demo_servers

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHILD = [sys.executable, "-I", "-m", "ua_tui.core.demo", "0"]
QUESTION = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of France?"}]}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def demo() -> AsyncIterator[DemoEndpoints]:
    async with demo_servers(0) as endpoints:
        yield endpoints


async def test_the_child_ends_with_its_input() -> None:
    child = await asyncio.create_subprocess_exec(*CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    line = json.loads(await child.stdout.readline())
    assert sorted(line) == ["composio_api_key", "url"]
    child.stdin.close()
    assert await asyncio.wait_for(child.wait(), PATIENCE) == 0


async def test_what_is_no_request_is_refused_as_by_the_real_services(demo: DemoEndpoints) -> None:
    async with httpx.AsyncClient(base_url=demo.url, trust_env=False) as http:
        missing = await http.get("/v1/models")
        assert (missing.status_code, missing.json()["error"]["type"]) == (404, "not_found_error")
        counted = await http.post("/v1/messages/count_tokens", json=QUESTION)
        assert counted.json()["input_tokens"] > 0
        whole = await http.post("/v1/messages", json=QUESTION)
        assert whole.json()["content"][0]["text"].startswith("The capital of France is **Paris**.")
        # Pages are distinguished by their hosts.
        for host, path, status, text in (
            ("siliconledger.example", "/news/kestrel-sixteen-high-stacks", 200, "cookie-banner"),
            ("siliconledger.example", "/robots.txt", 200, "Allow: /\n"),
            ("archive.tapeoutweekly.example", "/robots.txt", 200, "Disallow: /\n"),
            ("thewaferpost.example", "/gone/fab-map-interactive", 404, ""),
            ("attacker.test", "/v1/messages", 404, ""),
        ):
            page = await http.get(path, headers={"host": host})
            assert (page.status_code, text in page.text) == (status, True), (host, path)
        headers = {"x-api-key": demo.composio_api_key}
        made = await http.post("/api/v3.1/tool_router/session", headers=headers, json={"user_id": "mcp"})
        url = made.json()["mcp"]["url"]
        assert (await http.post(url, json={})).status_code == 401
        unknown = await http.post(url.replace("/mcp", "x/mcp"), headers=headers, json={})
        assert unknown.status_code == 404


async def test_child_does_not_get_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-secret")
    assert "sk-ant-test-secret" not in _environment().values()
    assert set(_environment()) <= {*os.environ, "PYDANTIC_DISABLE_PLUGINS"}
