from __future__ import annotations

import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from core.connections.toolkit import SERVER, toolkit_connection
from core.telemetry import toolkit_environment, traceparent
from tests.collector import collector
from tests.core.toolkit_site import running_site

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


async def test_calls_join_the_trace_and_no_site_learns_of_it(tmp_path: Path) -> None:
    with collector() as found:
        async with running_site() as site:
            told = toolkit_environment(found.url, {})
            connection = toolkit_connection(
                tmp_path, routes={".example": site.address}, robots=False, telemetry=told
            )
            server = connection.servers[SERVER]
            # The command line hands over its own span, and nothing else of tracing.
            environ = {**server["env"], "TRACEPARENT": traceparent(TRACE, PARENT)}
            parameters = StdioServerParameters(command=sys.executable, args=server["args"], env=environ)
            async with Client(parameters, read_timeout_seconds=60) as client:
                result = await client.call_tool("crawl_parallel", {"urls": ["http://site.example/story/1"]})
                assert not result.is_error
        call = found.of("ua-tui-toolkit")["tools/call crawl_parallel"]
    assert (call.trace_id, call.parent_id) == (TRACE, PARENT)
    assert site.hits["/story/1"] == 1
    assert not any("traceparent" in head or "tracestate" in head for head in site.heads)
