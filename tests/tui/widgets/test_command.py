"""Commands that screens declare: found without importing them, and each with a screen to open."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

from msgspec.structs import replace

from ua_tui.tui.widgets.command import declared_commands

DECLARED = declared_commands("ua_tui.tui.screens")


def test_the_commands_of_the_screens_are_found_in_their_order() -> None:
    assert " ".join(each.name for each in DECLARED) == (
        "setup model mode queue find sessions fleet connections agents permissions blacklist status context budget"
    )


def test_what_is_read_from_the_source_is_what_the_module_declares() -> None:
    for spec in DECLARED:
        module = import_module(spec.module)
        assert replace(module.COMMAND, module=spec.module) == spec
        assert callable(module.open_screen)


def test_no_screen_is_imported_to_find_the_commands() -> None:
    code = (
        "import sys\nfrom ua_tui.tui.widgets.command import declared_commands\n"
        "assert declared_commands('ua_tui.tui.screens')\n"
        "print([each for each in sys.modules if each.startswith(('ua_tui.tui.screens.', 'textual'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
