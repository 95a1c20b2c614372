"""The toolkit's own MCP server, with the reference client in each version of the protocol and with raw lines."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from tests.waiting import PATIENCE
from ua_tui.core.toolkit.mcp_server import HANDSHAKE_VERSIONS, STATELESS_VERSION

SERVER = """
import asyncio
import os
import sys
from typing import Annotated

from msgspec import Meta

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.toolkit.calls import Tool, ToolCalls
from ua_tui.core.toolkit.mcp_server import ToolServer


class Context:
    async def begin_call(self, tool_use_id=""):
        self.call = tool_use_id

    async def aclose(self):
        pass


async def show(
    context: Context,
    names: Annotated[list[str], Meta(description="some names", max_length=3)],
    count: Annotated[int, Meta(ge=1)] = 1,
    note: str | None = None,
) -> str:
    "Show what came.\\n\\nRaises:\\n    Nothing."
    print("this is no message")
    os.system("echo nor this; cat")
    return f"{context.call} {names} {count} {note}"


async def fail(context: Context, how: str) -> str:
    "Fail."
    if how == "unexpectedly":
        raise RuntimeError("secret details")
    if how == "never":
        await asyncio.sleep(3600)
    if how == "half":
        return "half a character: \\ud83d"
    raise WorkspaceError("the path is wrong")


tools = [Tool(show), Tool(fail)]
more = {"annotations": {"readOnlyHint": True}, "_meta": {"kind": "test"}}
listed = [tool.description() | more for tool in tools]
ToolServer("tested", "1.2", "Be kind.", listed, lambda: ToolCalls(Context(), tools)).run()
"""
VERSIONS = [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS]
COMMAND = StdioServerParameters(command=sys.executable, args=["-c", SERVER])


@asynccontextmanager
async def client(version: str) -> AsyncIterator[ClientSession | Client]:
    """The reference client that speaks this version."""
    if version in MODERN_PROTOCOL_VERSIONS:
        async with Client(COMMAND, mode=version, read_timeout_seconds=PATIENCE) as modern:
            yield modern
        return
    async with stdio_client(COMMAND) as (read, write), ClientSession(read, write) as session:
        params = mcp_types.InitializeRequestParams(
            protocol_version=version,
            capabilities=mcp_types.ClientCapabilities(),
            client_info=mcp_types.Implementation(name="test", version="1"),
        )
        request = mcp_types.InitializeRequest(params=params)
        result = await session.send_request(request, mcp_types.InitializeResult)
        assert (result.protocol_version, result.instructions) == (version, "Be kind.")
        assert (result.server_info.name, result.server_info.version) == ("tested", "1.2")
        session.adopt(result)
        await session.send_notification(mcp_types.InitializedNotification())
        yield session


def test_all_versions_of_the_reference_client_are_known() -> None:
    assert [*HANDSHAKE_VERSIONS, STATELESS_VERSION] == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_reference_client_lists_and_calls_tools(version: str) -> None:
    async with client(version) as session:
        show, _ = (await session.list_tools()).tools
        assert (show.name, show.description, show.meta) == ("show", "Show what came.", {"kind": "test"})
        assert show.annotations is not None
        assert show.annotations.read_only_hint
        assert show.output_schema is None
        assert show.input_schema == {
            "type": "object",
            "properties": {
                "names": {"type": "array", "items": {"type": "string"}, "description": "some names", "maxItems": 3},
                "count": {"type": "integer", "minimum": 1, "default": 1},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["names"],
        }  # fmt: skip

        async def call(tool: str, meta: Any = None, **given: object) -> tuple[bool, str]:
            result = await session.call_tool(tool, given, meta=meta)
            assert isinstance(result, mcp_types.CallToolResult)
            (block,) = result.content
            assert isinstance(block, TextContent)
            return bool(result.is_error), block.text

        told: Any = {"claudecode/toolUseId": "toolu_1"}
        assert await call("show", told, names=["a"], count="2", note="[b]") == (False, "toolu_1 ['a'] 2 [b]")
        # Models write lists as strings of JSON, too.
        assert await call("show", names='["a", "b"]') == (False, " ['a', 'b'] 1 None")
        assert await call("show", names=["a"], note="[1]") == (False, " ['a'] 1 [1]")
        for wrong, named in (
            ({}, "`names`"),
            ({"names": "a"}, "$.names"),
            ({"names": [], "count": 0}, "$.count"),
        ):
            failed, text = await call("show", **wrong)
            assert failed
            assert named in text
        assert await call("fail", how="") == (True, "Error executing tool fail: the path is wrong")
        assert await call("fail", how="unexpectedly") == (True, "Error executing tool fail")
        assert await call("fail", how="half") == (False, "half a character: ?")
        with pytest.raises(MCPError, match="Unknown tool: none"):
            await session.call_tool("none", {})


@pytest.mark.parametrize(("mode", "version"), [("auto", VERSIONS[-1]), ("legacy", HANDSHAKE_VERSIONS[-1])])
async def test_the_reference_client_finds_the_version_by_itself(mode: Any, version: str) -> None:
    async with Client(COMMAND, mode=mode, read_timeout_seconds=PATIENCE) as session:
        assert session.protocol_version == version
        assert session.server_info is not None
        assert session.server_info.name == "tested"
        assert len((await session.list_tools()).tools) == 2


async def test_a_call_is_cancelled_when_its_client_no_longer_waits() -> None:
    async with client(HANDSHAKE_VERSIONS[-1]) as session:
        with pytest.raises(MCPError, match="imed out"):
            await session.call_tool("fail", {"how": "never"}, read_timeout_seconds=0.2)
        assert not (await session.call_tool("show", {"names": []})).is_error


def envelope(**changed: object) -> dict[str, Any]:
    keys = {"protocolVersion": STATELESS_VERSION, "clientCapabilities": {}} | changed
    return {
        "_meta": {f"io.modelcontextprotocol/{key}": value for key, value in keys.items() if value is not None}
    }


def request(method: object, params: object = None, **changed: object) -> dict[str, Any]:
    return (
        {"jsonrpc": "2.0", "id": 1, "method": method}
        | ({} if params is None else {"params": params})
        | changed
    )


async def answers(lines: Sequence[object]) -> list[dict[str, Any]]:
    """What the server writes for these lines, in order, until its input ends."""
    sent = b"".join(
        (each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, stdin=-1, stdout=-1, stderr=-1
    )
    output, errors = await asyncio.wait_for(process.communicate(sent), PATIENCE)
    assert (process.returncode, errors) == (0, b"")
    return [json.loads(line) for line in output.splitlines()]


async def test_each_wrong_message_has_its_error_and_the_next_one_is_answered() -> None:
    """The scenarios of the conformance suite that need no HTTP, and what the specification says of JSON-RPC."""
    handshake = {"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    cases: list[tuple[object, object]] = [
        (b"no json", -32700),
        (b"\xff{", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud83d"}', -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\xed\xa0\x80"}', -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "params": {"a": ' + b"[" * 100_000, -32700),
        ([], -32600),
        (request("ping", jsonrpc="1.0"), -32600),
        (request("ping", id=None), None),
        (request("ping", id=[1]), -32600),
        (request("ping", id=True), -32600),
        (request(7), -32600),
        (request("ping", "text"), -32600),
        (b"", None),
        ({"jsonrpc": "2.0", "id": 9, "result": {}}, None),
        ({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}, None),
        ({"jsonrpc": "2.0", "method": "notifications/unknown"}, None),
        (request("initialize", handshake), -32602),
        (request("initialize", handshake | {"protocolVersion": "1999-01-01"}), HANDSHAKE_VERSIONS[-1]),
        (request("ping"), {}),
        (request("unknown"), -32601),
        (request("resources/list"), -32601),
        (request("ping", envelope()), -32601),
        (request("logging/setLevel", envelope()), -32601),
        (request("server/discover"), -32602),
        (request("server/discover", envelope(clientCapabilities=None)), -32602),
        (request("server/discover", envelope(protocolVersion=7)), -32602),
        (request("server/discover", envelope(protocolVersion="2027-01-01")), -32022),
        (request("server/discover", envelope()), [STATELESS_VERSION]),
        (request("tools/call", {"name": "none"}), -32602),
        (request("tools/call", {"name": "show", "arguments": []}), -32602),
        (request("tools/call", {"name": ["show"]}), -32602),
    ]  # fmt: skip
    expected = [want for _, want in cases if want is not None]
    found = await answers([line for line, _ in cases])
    assert len(found) == len(expected)
    for answer, want in zip(found, expected, strict=True):
        result, error = answer.get("result", {}), answer.get("error", {})
        assert answer["jsonrpc"] == "2.0"
        if isinstance(want, int):
            assert error["code"] == want, answer
            assert answer["id"] == (1 if want not in {-32700, -32600} else None)
        elif isinstance(want, str):
            assert result["protocolVersion"] == want
        elif isinstance(want, list):
            assert (result["supportedVersions"], result["resultType"]) == (want, "complete")
            assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
        else:
            assert result == want


async def test_the_command_that_serves_writes_only_messages(tmp_path: Path) -> None:
    """Standard input and output may be files as well as pipes."""
    source, target = tmp_path / "in", tmp_path / "out"
    call = request("tools/call", {"name": "show", "arguments": {"names": ["é" * 100_000]}})
    source.write_text("\n".join(json.dumps(each) for each in (request("ping"), call)))
    with source.open("rb") as given, target.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", SERVER, stdin=given, stdout=written, stderr=-1
        )
        await asyncio.wait_for(process.communicate(), PATIENCE)
    assert json.loads(target.read_text().splitlines()[0])["result"] == {}
