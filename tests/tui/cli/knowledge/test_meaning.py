from __future__ import annotations

import json
from pathlib import Path

from tests.embeddings_server import embeddings_server
from tests.observers.knowledge.recorded import Recorded, database_of
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.search import embeddings
from ua_tui.core.knowledge.search.embeddings import Embedder
from ua_tui.tui.cli import main

KEY = "sk-embeddings-canary-0123456789"


def test_it_is_shown_when_on_and_used_by_find(tmp_path: Path, capsys: Output, monkeypatch: Patch) -> None:
    # A slow machine shall not make it give up.
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", 60)
    recorded = Recorded(tmp_path)
    for number in range(12):
        recorded.write_report(f"umbrella{number}", f"The price of umbrella {number}.")
    recorded.write_report("car", "What a car costs: its price. " + "More is below. " * 50)
    assert main(["knowledge", "update", "--workspace", str(tmp_path)]) == 0
    assert "by meaning" not in capsys.readouterr().out
    find = ["find", "automobile", "price", "--kind", "report", "--limit", "8", "--workspace", str(tmp_path)]
    assert main(find) == 0
    assert "What a car costs" not in capsys.readouterr().out
    with embeddings_server() as server:
        for name, value in {"URL": f"{server.url}/", "MODEL": "m", "KEY": KEY}.items():
            monkeypatch.setenv(f"UA_EMBEDDINGS_{name}", value)
        host = server.url.split("/")[2]
        assert main(["knowledge", "--workspace", str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        assert f"on, m at {host}; 0 of " in printed
        assert server.asked == []
        with open_store(database_of(tmp_path)) as store:
            passages = store.rows("passages_without", model="m", limit=100)
            assert f"0 of {len(passages)} passages have vectors" in printed
            store.put_vectors(
                "m", passages, Embedder(server.url, "m").embed([text for _, _, text in passages])
            )
        assert main(["knowledge", "--json", "--workspace", str(tmp_path)]) == 0
        state = capsys.readouterr().out
        assert json.loads(state)["meaning"] == {"model": "m", "host": host, "vectors": len(passages)}
        assert KEY not in state
        assert main(find) == 0
        assert "What a car costs" in capsys.readouterr().out
        assert server.texts[-1] == "automobile price"
        server.status = 500
        assert main(find) == 0
        failed = capsys.readouterr()
        assert "only the words were searched, not the meaning" in failed.err
        assert KEY not in failed.out + failed.err
    assert not [each for each in tmp_path.rglob("*") if each.is_file() and KEY.encode() in each.read_bytes()]
