from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.observers.plugin_package import example, install, install_example
from tests.waiting import PATIENCE
from ua_tui.core.events.types import ArtifactSaved, Event, ObserverFinished, ObserverStarted
from ua_tui.core.observation import ToolResult
from ua_tui.core.plugins import PluginProblem
from ua_tui.observers.base import Observer, ObserverContext
from ua_tui.observers.catalogue import default_observers, load_failure_events, load_plugins
from ua_tui.observers.execution.replay import observe_result
from ua_tui.observers.execution.runner import ObserverRunner
from ua_tui.plugins import ObserverError, keep_json

Make = Callable[..., ToolResult]
Plugged = Callable[..., tuple[list[Observer], list[PluginProblem]]]
BUILT_IN = [observer.name for observer in default_observers(plugins=False)]
HEAD = "from ua_tui.plugins import Interest, Outcome, Saved, keep_json\n"
QUIET = """
    def wants(self, call): return True
    def observe(self, result, context): return Outcome()
"""


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugged:
    """Install a package with this source and these entry points, and load what is installed."""

    def install_and_load(source: str, **points: str) -> tuple[list[Observer], list[PluginProblem]]:
        # Modules stay imported for the whole run of the tests: each test has its own.
        module = f"plugin_{abs(hash(tmp_path))}"
        named = {name: target.replace("here", module) for name, target in points.items()}
        monkeypatch.syspath_prepend(str(install(tmp_path / "site", module, HEAD + source, **named)))
        problems: list[PluginProblem] = []
        observers = default_observers(report=problems.append)
        assert [observer.name for observer in observers][: len(BUILT_IN)] == BUILT_IN
        return observers[len(BUILT_IN) :], problems

    return install_and_load


def run_once(
    observer: Observer, context: ObserverContext, result: ToolResult
) -> tuple[ObserverFinished, list[Event]]:
    events: list[Event] = []
    observe_result(result, [observer], context, events.append)
    assert isinstance(events[-1], ObserverFinished)
    assert [event.run_id for event in events if isinstance(event, ObserverStarted)] == [events[-1].run_id]
    return events[-1], events


def observe_command(folder: Path, site: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "page.txt").write_text(
        "see https://example.com/a and https://example.com/b\n", encoding="utf-8"
    )
    return subprocess.run(
        [str(Path(sys.executable).parent / "ua-tui"), "observe", "--tool", "mcp__web__fetch",
         "--result", "page.txt", "--workspace", "out", *options],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )  # fmt: skip


def test_the_example_of_the_page_works_as_it_stands_there(tmp_path: Path) -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= 15
    done = observe_command(tmp_path, install_example(tmp_path / "site"))
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = (tmp_path / "out" / "links").iterdir()
    assert done.stdout.startswith(f"links/{path.name}  links, ")
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["links"] == ["https://example.com/a", "https://example.com/b"]
    assert saved["tool"] == "mcp__web__fetch"
    again = observe_command(tmp_path, tmp_path / "site")
    assert "already saved as" in again.stdout
    assert [path] == list((tmp_path / "out" / "links").iterdir())
    without = observe_command(tmp_path, tmp_path / "site", "--no-plugins")
    assert without.stdout == "nothing saved from mcp__web__fetch: corpus: no article: no page in it\n"


def test_a_broken_plug_in_is_a_line_for_the_person_and_no_traceback(tmp_path: Path) -> None:
    source = "def make():\n    raise RuntimeError('no \\x1b[2J config')\n"
    site = install(tmp_path / "site", "broken", source, made="broken:make", gone="missing_module:Gone")
    done = observe_command(tmp_path, site)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert "missing_module:Gone of broken is skipped" in done.stderr
    assert "--no-plugins" in done.stderr


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("name = 'x'\n    def wants(self, call): return True\n", "no method observe"),
        ("def wants(self, call): return True\n", "no name"),
        (f"name = 'No such name'{QUIET}", "is invalid"),
        (f"name = 3{QUIET}", "is invalid"),
        (f"name = 'corpus'{QUIET}", "is used by an observer of the program"),
        (f"name = 'x'{QUIET}    async def observe(self, result, context): return Outcome()\n", "async"),
        (f"name = 'x'{QUIET}    def __init__(self, needed): pass\n", "without arguments"),
        (f"name = 'x'{QUIET}    def __init__(self): raise SystemExit(3)\n", "SystemExit"),
        (f"{QUIET}    @property\n    def name(self): raise KeyError('x')\n", "no name"),
    ],
)
def test_what_is_no_observer_is_skipped_and_reported(plugged: Plugged, body: str, expected: str) -> None:
    observers, (problem,) = plugged(f"class It:\n    {body}", odd="here:It")
    assert observers == []
    assert problem.plugin == "odd"
    assert expected in problem.message
    first, last = load_failure_events(problem)
    assert isinstance(first, ObserverStarted)
    assert isinstance(last, ObserverFinished)
    assert (last.status, last.observer, last.error) == ("failed", "odd", problem.message)


def test_of_two_plug_ins_with_one_name_the_first_has_it(plugged: Plugged) -> None:
    source = (
        f"class It:\n    name = 'same'{QUIET}\ndef give(): return It()\nready = It()\nready.name = 'ready'\n"
    )
    observers, (problem,) = plugged(source, b="here:give", a="here:It", c="here:ready")
    assert [observer.name for observer in observers] == ["same", "ready"]
    assert (problem.plugin, "another plug-in" in problem.message) == ("b", True)


def test_a_plug_in_that_never_finishes_loading_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import threading\nclass It:\n    def __init__(self): threading.Event().wait()\n"
    monkeypatch.syspath_prepend(str(install(tmp_path, "plugin_hangs", source, slow="plugin_hangs:It")))
    problems: list[PluginProblem] = []
    assert load_plugins([], problems.append, seconds=0.1) == []
    assert "did not load within 0.1 seconds" in problems[0].message


@pytest.mark.parametrize(
    ("wants", "observe", "expected"),
    [
        ("raise ValueError('bad luck')", "return Outcome()", "bad luck"),
        ("return 'perhaps'", "return Outcome()", "a value of the type str"),
        ("return None", "return Outcome()", "returned nothing"),
        ("return True", "return None", "returned nothing: return an Outcome"),
        ("return True", "return {}", "a value of the type dict"),
        ("return True", "raise ValueError('worse')", "worse"),
        ("return True", "raise SystemExit(1)", "SystemExit"),
        ("return True", "return Outcome(('links/a.json',))", "not valid: Expected `object`, got `str`"),
        ("return True", "return Outcome(items='many')", "got `str` - at `$.items`"),
        ("return True", "return Outcome(items=-1)", ">= 0 - at `$.items`"),
        ("return True", "return Outcome(note=b'x')", "at `$.note`"),
        ("return True", "return Outcome((Saved('links/a.json', 'links', 1, ''),))", "links/a.json"),
        ("return True", "return Outcome((Saved('../a.json', 'links', 1, ''),))", "not in the workspace"),
        ("return True", "return keep_json(result, context, {}, kind='../x')", "is not a valid kind"),
    ],
)
async def test_what_a_plug_in_does_wrong_is_a_failed_run(
    plugged: Plugged, context: ObserverContext, result: Make, wants: str, observe: str, expected: str
) -> None:
    source = f"""
class It:
    name = "it"
    def wants(self, call): {wants}
    def observe(self, result, context): {observe}
"""
    (observer,), _ = plugged(source, it="here:It")
    finished, _ = run_once(observer, context, result("mcp__a__b", "x"))
    assert finished.status == "failed"
    assert expected in (finished.error or "")
    events: list[Event] = []
    runner = ObserverRunner([observer], context, events.append)
    runner.start()
    runner.submit(result("mcp__a__b", "x"))
    assert await runner.drain() == []
    (live,) = [event for event in events if isinstance(event, ObserverFinished)]
    assert (live.status, live.error) == ("failed", finished.error)


def test_what_was_saved_counts_although_another_claim_is_wrong(
    plugged: Plugged, context: ObserverContext, result: Make
) -> None:
    source = """
class It:
    name = "it"
    def wants(self, call): return Interest.CURIOUS
    def observe(self, result, context):
        kept = keep_json(result, context, {"a": 1}, kind="mine", items=1)
        return Outcome((*kept.artifacts, Saved("mine/nothing.json", "mine", 1, "")), items=2)
"""
    (observer,), _ = plugged(source, it="here:It")
    finished, events = run_once(observer, context, result("mcp__a__b", "x"))
    (saved,) = [event for event in events if isinstance(event, ArtifactSaved)]
    assert finished.status == "failed"
    assert finished.artifacts == [saved.path]
    assert context.workspace.exists(saved.path)


def test_a_name_that_changes_later_stays_what_it_was(
    plugged: Plugged, context: ObserverContext, result: Make
) -> None:
    source = f"""
import itertools
class It:
    numbers = itertools.count()
    name = property(lambda self: f"it{{next(self.numbers)}}")
{QUIET}"""
    (observer,), _ = plugged(source, it="here:It")
    assert [run_once(observer, context, result("a", "x"))[0].observer for _ in range(2)] == ["it0", "it0"]


def test_keep_json_saves_once_and_not_in_the_folders_of_the_program(
    context: ObserverContext, result: Make
) -> None:
    one = result("mcp__a__b", "x")
    first = keep_json(one, context, {"found": [1]}, kind="mine", items=1, note="why")
    second = keep_json(result("mcp__a__c", "y", "toolu_2"), context, {"found": [1]}, kind="mine", items=1)
    assert (len(first.artifacts), first.items, first.note) == (1, 1, "why")
    assert (second.artifacts, second.duplicates) == ((), 1)
    assert first.artifacts[0].path in (second.note or "")
    for kind in ("work_products", "tool_results", "A b", "..", ""):
        with pytest.raises(ObserverError, match="is not a valid kind"):
            keep_json(one, context, {}, kind=kind)
