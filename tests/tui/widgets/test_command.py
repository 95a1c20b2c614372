"""The commands of the screens: found without importing them, and each with a screen to open."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

from ua_tui.tui.widgets.command import screen_commands

DECLARED = screen_commands()


def test_the_commands_of_the_screens_are_found_in_their_order() -> None:
    assert " ".join(each.name for each in DECLARED) == (
        "find sessions model mode budget queue rewind context connections permissions agents fleet status setup "
        "blacklist"
    )


def test_every_command_has_a_screen_to_open() -> None:
    for spec in DECLARED:
        assert callable(import_module(f"ua_tui.tui.screens.{spec.module}").open_screen)


def test_no_screen_is_imported_to_find_the_commands() -> None:
    code = (
        "import sys\nfrom ua_tui.tui.widgets.command import screen_commands\n"
        "assert screen_commands()\n"
        "print([each for each in sys.modules if each.startswith(('ua_tui.tui.screens.', 'textual'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
