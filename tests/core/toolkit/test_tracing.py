from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from core.connections.toolkit import SERVER, toolkit_connection
from core.telemetry.environment import toolkit_environment, traceparent
from tests.collector import collector
from tests.core.toolkit_site import running_site

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.slow
async def test_calls_join_the_trace_and_no_site_learns_of_it(tmp_path: Path) -> None:
    with collector() as found, collector(status=404) as composio:
        handed_over = tmp_path / "composio.json"
        headers = {"x-api-key": "canary-0123456789"}
        handed_over.write_text(
            json.dumps({"base_url": composio.url, "session_id": "trs_1", "headers": headers})
        )
        async with running_site() as site:
            reported = toolkit_environment(found.url, {})
            connection = toolkit_connection(
                tmp_path / "ws",
                routes={".example": site.address},
                telemetry=reported,
                session_file=handed_over,
            )
            server = connection.servers[SERVER]
            # The command line hands over its own span, and nothing else of tracing.
            environ = {**server["env"], "TRACEPARENT": traceparent(TRACE, PARENT)}
            parameters = StdioServerParameters(command=sys.executable, args=server["args"], env=environ)
            async with Client(parameters, read_timeout_seconds=60) as client:
                result = await client.call_tool("crawl_parallel", {"urls": ["http://site.example/story/1"]})
                assert not result.is_error
                refused = await client.call_tool("workbench_download", {"path": "/mnt/files/a.png"})
                assert refused.is_error
        spans = found.of("ua-tui-toolkit")
    call, download = spans["tools/call crawl_parallel"], spans["tools/call workbench_download"]
    asked = spans["POST download_url"]
    assert asked.parent_id == download.span_id
    assert asked.attributes["server.address"] == "127.0.0.1"
    assert "canary" not in str(found.spans)
    assert composio.asked
    assert not any("traceparent" in headers for _, headers in composio.asked)
    assert (call.trace_id, call.parent_id) == (TRACE, PARENT)
    assert site.hits["/story/1"] == 1
    assert not any("traceparent" in head or "tracestate" in head for head in site.heads)
