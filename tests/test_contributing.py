"""The recipes of CONTRIBUTING.md work exactly as they are printed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import PROJECT

_BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^```sh\nuv run python (.*)\n```$", re.MULTILINE)
RECIPES = {
    title: (_BLOCK.findall(section), _COMMAND.findall(section))
    for title, section in re.findall(
        r"^### (.+?)\n(.*?)(?=^### |\Z)",
        (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Recipes")[2],
        re.DOTALL | re.MULTILINE,
    )
}

ON_SCREEN = """
import asyncio, pathlib, tempfile
from tests.tui.app_host import settled
from tests.tui.fakes import make_app, make_session
from tests.waiting import until

def on_screen(check, size=(120, 40)):
    async def main():
        folder = pathlib.Path(tempfile.mkdtemp(dir="."))
        app = make_app(folder, make_session(folder))
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await check(app, pilot)
    asyncio.run(main())
"""
CHECKS = {
    "An observer": """
from ua_tui.observers.catalogue import default_observers
assert "failures" in [observer.name for observer in default_observers(plugins=False)]
""",
    "A pipeline handler": """
from ua_tui.core.pipelines import BeforeTool
from ua_tui.tui.compose import HANDLERS
[(pipeline, handler, _)] = HANDLERS
assert pipeline == "tool.before_execute"
call = BeforeTool(tool_use_id="toolu_1", name="COMPOSIO_REMOTE_BASH_TOOL", input={})
assert "disabled" in handler(call).denied
""",
    "A viewer": """
from pathlib import Path
from ua_tui.tui.viewers.registry import load
Path("a.ini").write_text("[one]\\nx=1\\n[two]\\n")
document = load(Path("a.ini"))
assert (document.kind, document.facts) == ("INI", ("2 sections",)), document
""",
    "A pane": """
from ua_tui.core.events.types import QueryFinished
from ua_tui.tui.panes.costs.pane import CostsPane

async def borders(app, pilot):
    # Each pane of a column has a border that moves, and moves only the pane below it.
    # The first move gives every pane of the column lines of its own.
    await pilot.press("alt+5", *["plus"] * 3)
    await until(lambda: isinstance(app.focused, CostsPane), reported=lambda: app.focused)
    await pilot.pause()
    for key, changed in (("f3", (2, -2, 0)), ("f4", (0, 2, -2)), ("alt+5", (0, -2, 2))):
        panes = [app.frame.query_one("#" + name) for name in ("trace", "observers", "costs")]
        before = [pane.region.height for pane in panes]
        await pilot.press(key, "plus")
        def moved():
            return tuple(pane.region.height - height for pane, height in zip(panes, before))
        await until(lambda: moved() == changed, reported=lambda: (key, before, moved()))
on_screen(borders, (200, 60))
""",
    "A dialog with a command": """
from ua_tui.tui.screens.session.folder import FolderScreen

async def opened(app, pilot):
    await pilot.press(*"/folder", "enter")
    await until(lambda: isinstance(app.screen, FolderScreen), reported=lambda: app.screen)
    await pilot.press("escape")
on_screen(opened)
""",
    "A slash command without a dialog": """
from ua_tui.tui.app.app import UaTuiApp

rung = []
UaTuiApp.bell = lambda app: rung.append(True)

async def rings(app, pilot):
    await pilot.press(*"/bell", "enter")
    await until(lambda: rung)
    await pilot.pause()
    assert rung == [True], rung
on_screen(rings)
""",
    "A sub-command": """
import contextlib, io
from ua_tui.tui.cli import main as ua_tui
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    assert ua_tui(["themes", "--json"]) == 0
assert "dark" in printed.getvalue()
""",
    "An event": """
from ua_tui.core.events.codec import decode_event, encode_event
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import SessionRenamed
from tests.core import test_docs
event = decode_event(encode_event(SessionRenamed(title="News")))
assert event == SessionRenamed(title="News")
assert describe(event).sentence == "The session is called News."
test_docs.test_the_journal_page_has_every_event_field_and_limit_and_no_other()
""",
    "A setting": """
import contextlib, io, pathlib
from tests.docs import main
from ua_tui.tui.cli import main as ua_tui
assert main(["--check"]) == 0
assert "| `beep` | `UA_BEEP` | `false` |" in pathlib.Path("docs/configuration.md").read_text()
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    assert ua_tui(["config", "beep"]) == 0
assert "bell" in printed.getvalue()
""",
    "A playbook for the demo": """
from ua_tui.core.demo.playbook import load_library
playbook = load_library().named("What is in the workspace?")
assert playbook is not None and playbook.title == "a question and one tool call"
""",
}


def test_every_recipe_is_checked() -> None:
    assert list(RECIPES) == list(CHECKS)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project to which all recipes are applied, one after the other."""
    root = tmp_path_factory.mktemp("recipes")
    left_out = shutil.ignore_patterns("__snapshots__", "e2e", "bench", "__pycache__")
    for package in ("core", "observers", "tui", "styles", "ua_tui", "tests", "docs"):
        shutil.copytree(PROJECT / package, root / package, symlinks=True, ignore=left_out)
    for file in ("pyproject.toml", "constraints.txt"):
        shutil.copy(PROJECT / file, root / file)
    blocks = [block for blocks, _ in RECIPES.values() for block in blocks]
    for kind, name, text in blocks:
        apply(root / name, text, is_change=kind == "diff")
    new = [name for kind, name, _ in blocks if kind == "python"]
    config = ["--config", str(PROJECT / "pyproject.toml"), *new]
    commands = dict.fromkeys(command for _, commands in RECIPES.values() for command in commands)
    for command in (
        *(command.split() for command in commands),
        ["-m", "ruff", "check", *config],
        ["-m", "ruff", "format", "--check", *config],
    ):
        done = subprocess.run(
            [sys.executable, *command], cwd=root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.mark.slow
@pytest.mark.parametrize("title", CHECKS)
def test_a_recipe_works_as_printed(title: str, copy: Path) -> None:
    script = [sys.executable, "-c", ON_SCREEN + CHECKS[title]]
    done = subprocess.run(script, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def apply(path: Path, text: str, *, is_change: bool) -> None:
    if not is_change:
        assert not path.exists(), path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    lines = text.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    source = path.read_text(encoding="utf-8")
    assert source.count(before) == 1, before
    path.write_text(source.replace(before, after), encoding="utf-8")
