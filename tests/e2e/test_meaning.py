"""A real session with the search by meaning: what is sent, by which process, and where the key is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.core.knowledge.stored import add, document
from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.embeddings_server import embeddings_server
from tests.waiting import wait_until
from ua_tui.core.events.types import ToolCallFinished
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.storage.folders import WORKSPACES

KEY = "sk-embeddings-canary-0123456789"
QUERY, EARLIER = "automobile price", "session_20260101_000000"


def test_passages_and_the_queries_of_the_agent_are_sent_with_the_key_in_a_header_only(tmp_path: Path) -> None:
    # What is known of a session without a folder is removed.
    (tmp_path / WORKSPACES / EARLIER).mkdir(parents=True)
    with open_store(tmp_path / WORKSPACES / FILE) as store:
        others = [document(f"The price of umbrella {n}.", path=f"{n}.md") for n in range(30)]
        target = document("A car has its price. " + "More is below. " * 50, path="car.md")
        add(store, EARLIER, target, *others)

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if results:
            return [Text("Done.")]
        wait_until(lambda: any(text.startswith("A car") for text in server.texts))
        return [Use("mcp__local_toolkit__knowledge_search", {"query": QUERY})]

    with embeddings_server() as server, scripted_model(reply) as url:
        keys = {"UA_EMBEDDINGS_URL": server.url, "UA_EMBEDDINGS_MODEL": "m", "UA_EMBEDDINGS_KEY": KEY}
        done = run(tmp_path, "run", "What?", env=model_environment(tmp_path, url, **keys))
    assert done.code == 0, done.stderr
    (tmp_path / WORKSPACES / EARLIER).rmdir()
    assert [event.status for event in done.of(ToolCallFinished)] == ["success"]
    assert QUERY in server.texts
    assert {headers["authorization"] for headers, _ in server.asked} == {f"Bearer {KEY}"}
    holders = [each for each in tmp_path.rglob("*") if each.is_file() and KEY.encode() in each.read_bytes()]
    assert holders == []
    assert KEY not in done.stdout + done.stderr
