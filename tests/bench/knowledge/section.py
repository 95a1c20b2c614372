from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

from tests.bench.knowledge.collections import collection_rows
from tests.bench.knowledge.corpus import CHUNKS, build_corpus
from tests.bench.knowledge.finding import finding_rows
from tests.bench.knowledge.queries import query_rows
from tests.bench.knowledge.team import team_rows
from tests.bench.table import Row, Section
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.screens.knowledge.reader import TYPING_BUDGET

SIZE = 2.0


def knowledge(base: Path, _runs: int) -> Section:
    """The knowledge base: queries, the size of its file, the rebuild, and whether it finds things."""
    database = base / "many" / WORKSPACES / "knowledge.db"
    text = build_corpus(database)
    size = database.stat().st_size
    # In time of a core: other programs on the machine do not count.
    with closing(KnowledgeSearch(database, budget=TYPING_BUDGET, clock=time.thread_time)) as search:
        rows = query_rows(database, search, clock=time.thread_time)
    shown = f"{size / 1e6:.0f} MB for {text / 1e6:.0f} MB of texts and titles in {CHUNKS:,} chunks"
    rows.append(Row("knowledge: size of the file, to that of its texts", size / text, "times", SIZE, shown))
    of_team, without_team = team_rows(database)
    found, missed = finding_rows(base / "sessions")
    of_collections, without_collections = collection_rows(base / "collections")
    return Section([*rows, *of_team, *found, *of_collections], [*missed, *without_team, *without_collections])
