"""The names of session folders in the file of the knowledge base."""

from __future__ import annotations

from pathlib import Path

from ua_tui.core.knowledge.place import folder_key, folder_path


def test_a_folder_beside_the_file_is_named_without_place_also_behind_links(tmp_path: Path) -> None:
    key = folder_key(tmp_path / "knowledge.db", tmp_path / "session_1")
    assert key == "session_1"
    assert folder_path(tmp_path / "moved" / "knowledge.db", key) == tmp_path / "moved" / "session_1"
    database = tmp_path / "elsewhere" / "knowledge.db"
    assert folder_path(database, folder_key(database, tmp_path / "session_1")) == tmp_path / "session_1"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert folder_key(tmp_path / "link" / "knowledge.db", tmp_path / "real" / "session_1") == "session_1"
    assert folder_path(tmp_path / "link" / "knowledge.db", "session_1") == tmp_path / "real" / "session_1"
