"""The health file of a worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.waiting import until
from ua_tui.core.errors import SettingsError
from ua_tui.tui.cli.team.worker import touching


async def test_health_file_is_touched_while_the_loop_runs_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    async with touching(path, every=0.0):
        for _ in range(2):
            os.utime(path, (0, 0))
            await until(lambda: path.stat().st_mtime > 0)
    assert not path.exists()


async def test_health_file_that_cannot_be_written_is_reported_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "alive"
    with pytest.raises(SettingsError, match=r"--health-file .*/alive cannot be written .*: name a file"):
        async with touching(path):
            pytest.fail("the worker began")


async def test_health_file_that_disappears_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "alive"
    async with touching(path, every=0.0):
        path.unlink()
        await until(path.exists)
