from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.descriptors import open_files
from ua_tui.core.storage.regular_file import NotRegular, open_regular


def test_only_a_regular_file_is_opened_and_nothing_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "link").symlink_to("a.txt")
    os.mkfifo(tmp_path / "pipe")
    for path, follow in (("a.txt", False), ("link", True)):
        with os.fdopen(open_regular(tmp_path / path, follow=follow)) as file:
            assert file.read() == "text"
    for path, is_kind in (("pipe", stat.S_ISFIFO), ("", stat.S_ISDIR)):
        before = open_files()
        with pytest.raises(NotRegular, match="not a regular file") as caught:
            open_regular(tmp_path / path)
        assert is_kind(caught.value.mode)
        assert not open_files() - before
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link")
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "none")
    with pytest.raises(ValueError, match="null"):
        open_regular("a\0b")
