"""A knowledge base that this user's program did not make can be searched, but nothing in it is believed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.core.knowledge.stored import add, document
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import adopt_knowledge, connect, open_writer
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.search.search import KnowledgeSearch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "sessions" / FILE
    with open_store(path) as store:
        add(store, "session_1", document("quokkas", trust="web", title="Q"))
    return path


def by_another_user(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(path.parent / "other"))
        with open_store(path) as store:
            add(store, "session_9", document("quokkas", trust="web", url="https://a.example/x", title="Q"))


FOREIGN = {
    "no mark": "DROP TABLE mark",
    "empty mark": "DELETE FROM mark",
    "mark of another": "UPDATE mark SET id = 'x'",
    "mark that is no text": "UPDATE mark SET seal = x'00'",
    "mark of an other kind": "UPDATE mark SET seal = (SELECT seal || '0' FROM mark)",
}


@pytest.mark.parametrize("name", [*FOREIGN, "another user", "moved"])
def test_a_file_of_somebody_else_is_searched_but_not_believed(
    path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "another user":
        by_another_user(path, monkeypatch)
    elif name == "moved":
        (path.parent / "elsewhere").mkdir()
        path = path.rename(path.parent / "elsewhere" / path.name)
    elif name in FOREIGN:
        with closing(connect(path, "rw")) as db:
            db.execute(FOREIGN[name])
    before = path.read_bytes()
    for use in (open_writer, open_store):
        with pytest.raises(KnowledgeError, match="can be searched, but nothing is added to it"):
            use(path)
    with closing(KnowledgeSearch(path, budget=60)) as search:
        found = search.search("quokkas")
        (hit,) = found.hits
        document = search.document(hit.id)
        assert document is not None
        assert (hit.trust, document.trust) == ("unknown", "unknown")
        assert "quokkas" in document.text
        assert any("`ua-tui trust adopt" in each for each in found.notices)
    assert path.read_bytes() == before
    adopt_knowledge(path)
    with closing(KnowledgeSearch(path, budget=60)) as search:
        found = search.search("quokkas")
        assert found.notices == ()
        assert found.hits[0].trust != "unknown"
