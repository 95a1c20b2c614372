from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

import httpx
import httpx2
import pytest
import pytest_asyncio

from core.demo.composio.tools import REMOTE_TOOLS
from core.demo.launch import DemoEndpoints, demo_servers
from tests.waiting import PATIENCE

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHILD = [sys.executable, "-I", "-m", "core.demo"]
QUESTION = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def demo() -> AsyncIterator[DemoEndpoints]:
    async with demo_servers(0) as endpoints:
        yield endpoints


@pytest_asyncio.fixture(loop_scope="module")
async def http(demo: DemoEndpoints) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=demo.model_url, trust_env=False) as client:
        yield client


async def test_port_in_use_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [*CHILD, "--port", str(port)]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"The demo cannot listen on 127.0.0.1:{port}: Address already in use.\n"


async def test_child_ends_when_its_input_ends() -> None:
    child = await asyncio.create_subprocess_exec(
        *CHILD, "--pace", "0", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    line = json.loads(await child.stdout.readline())
    assert sorted(line) == ["article_route", "composio_api_key", "composio_url", "model_url"]
    child.stdin.close()
    assert await asyncio.wait_for(child.wait(), PATIENCE) == 0


async def test_stream_is_the_protocol_and_whole_answers_exist(http: httpx.AsyncClient) -> None:
    whole = (await http.post("/v1/messages", json=QUESTION)).json()
    assert whole["content"][0]["text"].startswith("The capital of France is **Paris**.")
    assert whole["stop_reason"] == "end_turn"
    streamed = await http.post("/v1/messages", params={"beta": "true"}, json={**QUESTION, "stream": True})
    events = [
        json.loads(line.removeprefix("data: "))
        for line in streamed.text.splitlines()
        if line.startswith("data")
    ]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    text = "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta")
    assert text == whole["content"][0]["text"]
    assert events[-2]["usage"]["output_tokens"] > 1


async def test_requests_that_are_none_are_refused_in_the_apis_words(http: httpx.AsyncClient) -> None:
    for body in (b"nonsense", b"[]", b'{"messages": [1]}'):
        answer = await http.post("/v1/messages", content=body)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")
    missing = await http.get("/v1/models")
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "not_found_error")
    counted = await http.post("/v1/messages/count_tokens", json=QUESTION)
    assert counted.json()["input_tokens"] > 0


async def test_overload_is_refused_twice_and_then_answered(http: httpx.AsyncClient) -> None:
    busy = [{"role": "user", "content": "Summarise the news while the service is busy"}]
    answers = [await http.post("/v1/messages", json={**QUESTION, "messages": busy}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [529, 529, 200]
    assert answers[0].json()["error"]["type"] == "overloaded_error"


async def test_pages_are_distinguished_by_host(http: httpx.AsyncClient) -> None:
    async def get(host: str, path: str) -> httpx.Response:
        return await http.get(path, headers={"host": host})

    page = await get("siliconledger.example", "/news/kestrel-sixteen-high-stacks")
    assert page.status_code == 200
    assert 'property="article:published_time"' in page.text
    assert "cookie-banner" in page.text
    assert (await get("thewaferpost.example", "/gone/fab-map-interactive")).status_code == 404
    assert "Disallow: /\n" in (await get("archive.tapeoutweekly.example", "/robots.txt")).text
    assert "Allow: /\n" in (await get("siliconledger.example", "/robots.txt")).text
    assert (await get("attacker.test", "/v1/messages")).status_code == 404


async def test_mcp_half_speaks_the_protocol_and_wants_the_key(
    http: httpx.AsyncClient, demo: DemoEndpoints
) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"x-api-key": demo.composio_api_key}
    made = await http.post("/api/v3.1/tool_router/session", headers=headers, json={"user_id": "mcp"})
    assert made.status_code == 201
    url = made.json()["mcp"]["url"]
    assert (await http.post(url, json={})).status_code == 401
    unknown = url.replace("/mcp", "x/mcp")
    assert (await http.post(unknown, headers=headers, json={})).status_code == 404
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as session,
        Client(streamable_http_client(url, http_client=session)) as client,
    ):
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"COMPOSIO_MULTI_EXECUTE_TOOL", "COMPOSIO_MANAGE_CONNECTIONS", "trim_video"} <= names
        listed = await client.call_tool(
            "COMPOSIO_GET_TOOL_SCHEMAS", {"tool_slugs": ["GMAIL_SEND_EMAIL", "X"]}
        )
        schemas = json.loads(listed.content[0].model_dump()["text"])["data"]
        assert "recipient_email" in schemas["tool_schemas"]["GMAIL_SEND_EMAIL"]["input_schema"]["properties"]
        assert schemas["not_found"] == ["X"]
        assert names == {each.slug for each in REMOTE_TOOLS}
        result = await client.call_tool("COMPOSIO_MANAGE_CONNECTIONS", {"toolkits": ["gmail"]})
        (block,) = result.content
        answer = json.loads(block.model_dump()["text"])
        link = answer["data"]["results"]["gmail"]["redirect_url"]
        assert link.startswith("https://connect.composio.dev/link/lk_")
        failed = await client.call_tool("trim_video", {"video_path": "x", "output_path": "/etc/passwd"})
        assert failed.is_error


async def test_child_does_not_get_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-secret")
    from core.demo.launch import _environment

    assert "sk-ant-test-secret" not in _environment().values()
    assert set(_environment()) <= {*os.environ, "PYDANTIC_DISABLE_PLUGINS"}
