"""Pictures of layouts that a person made, and of the keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core.settings.keymap import KeyChoice
from tests.tui.app.test_snapshots import played_app, steps
from tests.tui.pictured import LOOKS, SIZES, every_look, every_size, looks
from tui.keys.keymap import choose_keys

pytestmark = pytest.mark.usefixtures("still")


@looks(LOOKS[1:])
def test_changed_sizes(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    app = played_app(tmp_path, theme)
    keys = ["f5", *[">"] * 3, *["-"] * 3]
    if size == SIZES[2]:
        keys += ["f3", *["<"] * 2, *["+"] * 4]
    assert snap_compare(app, terminal_size=size, run_before=steps(*keys))


@every_look
def test_the_keys_of_the_trace(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    assert snap_compare(
        played_app(tmp_path, theme), terminal_size=size, run_before=steps("f3", "question_mark")
    )


@every_size
def test_every_key_with_some_that_were_passed_over(
    snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int]
) -> None:
    app = played_app(tmp_path)
    origin = "keys in /home/me/.config/ua-tui/config.toml"
    app.use_keys(
        choose_keys([KeyChoice("trace.next_failure", "j", origin), KeyChoice("help.all", "f12", origin)])
    )
    assert snap_compare(app, terminal_size=size, run_before=steps("f12"))
