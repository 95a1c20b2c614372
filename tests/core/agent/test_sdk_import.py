"""The SDK without `mcp`: guards what `import_sdk` relies on of the SDK that is pinned."""

from __future__ import annotations

import subprocess
import sys

from tests.waiting import PATIENCE

START = """
import asyncio, json, sys, threading
from importlib import import_module
from ua_tui.core.agent.sdk_import import LATE, import_sdk
"""
UNTOUCHED = """
sdk = import_sdk()
import claude_agent_sdk, claude_agent_sdk._internal._mcp_compat as compat
assert claude_agent_sdk is sdk is import_sdk()
assert [name for name in sys.modules if name.partition(".")[0] in LATE] == []
assert not any(type(each).__module__ == import_sdk.__module__ for each in sys.meta_path)
sdk.ClaudeSDKClient(sdk.ClaudeAgentOptions(hooks={}, agents={}))
import mcp.types, jsonschema
assert mcp.types.Tool.model_fields and jsonschema.validate
assert compat.MCP_MAJOR == 2
"""
TOOLS = """
sdk = import_sdk()

@sdk.tool("add", "Adds.", {"a": int, "b": int}, sdk.ToolAnnotations(read_only_hint=True, max_result_size_chars=9))
async def add(given):
    return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

from claude_agent_sdk._internal.sdk_mcp_bridge import SdkMcpBridge

async def main():
    server = sdk.create_sdk_mcp_server("own", tools=[add])
    bridge = SdkMcpBridge("own", server["instance"])

    async def ask(number, method, **params):
        answer = await bridge.handle({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer["result"]

    about = {"name": "t", "version": "1"}
    await ask(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=about)
    await bridge.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
    (listed,) = (await ask(2, "tools/list"))["tools"]
    assert listed["annotations"]["readOnlyHint"], listed
    assert (await ask(3, "tools/call", name="add", arguments={"a": 1, "b": 2}))["content"][0]["text"] == "3"
    refused = await ask(4, "tools/call", name="add", arguments={"a": "one", "b": 2})
    assert refused["isError"] and "one" in refused["content"][0]["text"], refused
    await bridge.aclose()

asyncio.run(main())
import mcp.types
assert isinstance(sdk.ToolAnnotations(title="x"), mcp.types.ToolAnnotations)
assert isinstance(sdk.ToolAnnotations(title="x"), sdk.ToolAnnotations)
"""
OTHERS = """
failed = []

def other():
    for name in ("mcp.types", "mcp.server", "mcp.shared.memory", "jsonschema"):
        module = import_module(name)
        if sys.modules[name] is not module or not module.__spec__.origin:
            failed.append(name)
    import mcp.types
    mcp.types.Tool(name="n", input_schema={})

threads = [threading.Thread(target=each) for each in (other, import_sdk, other, import_sdk)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed
sdk = import_sdk()
assert sdk.create_sdk_mcp_server("own", tools=[])["instance"] is not None
"""
REAL_FIRST = """
import mcp, jsonschema
sdk = import_sdk()
assert issubclass(sdk.ToolAnnotations, mcp.types.ToolAnnotations)
"""


def run(code: str) -> None:
    """Run Python in a fresh interpreter, where nothing is imported yet."""
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_sdk_is_imported_without_them_and_they_are_what_they_are_afterwards() -> None:
    run(UNTOUCHED)


def test_tools_in_this_process_work_with_the_real_ones() -> None:
    run(TOOLS)


def test_another_thread_that_imports_them_meanwhile_gets_the_real_ones() -> None:
    run(OTHERS)


def test_the_real_ones_are_used_if_they_are_there() -> None:
    run(REAL_FIRST)
