from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.observers.plugin_package import install_package
from tests.waiting import PATIENCE
from ua_tui.core.pipelines import BeforeTool, Pipelines
from ua_tui.core.plugins import PIPELINE_GROUP, PluginProblem, register_plugins

DENIES = """
from dataclasses import replace
def register(pipelines):
    pipelines.register("tool.before_execute", lambda call: replace(call, denied={reason!r}), {priority})
    {more}
"""

Plugged = Callable[..., tuple[Pipelines, list[PluginProblem]]]


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugged:
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(**sources: str) -> tuple[Pipelines, list[PluginProblem]]:
        for name, source in sources.items():
            module = f"handlers_{name}_{abs(hash(source))}"
            install_package(tmp_path, module, source, {PIPELINE_GROUP: {name: f"{module}:register"}})
        problems: list[PluginProblem] = []
        return register_plugins(Pipelines(), problems.append, seconds=PATIENCE), problems

    return load


async def denied(pipelines: Pipelines) -> str | None:
    call = BeforeTool(tool_use_id="t1", name="x", input={})
    return (await pipelines.run("tool.before_execute", call)).denied


async def test_the_handlers_of_packages_run_by_their_priority(plugged: Plugged) -> None:
    pipelines, problems = plugged(
        a=DENIES.format(reason="low", priority=0, more=""),
        b=DENIES.format(reason="high", priority=5, more=""),
    )
    assert problems == []
    # The second may add to what the first said, and here it does.
    assert await denied(pipelines) == "low"


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        ("raise ImportError('no library')", "cannot be imported (ImportError: no library)"),
        ("register = 3", "does not name a plain function"),
        ("async def register(pipelines): ...", "does not name a plain function"),
        (DENIES.format(reason="x", priority=0, more="raise SystemExit(3)"), "its handlers failed"),
        ("def register(pipelines): pipelines.register('tool.before', print)", "there is no pipeline"),
        ("class Odd(Exception):\n    __str__ = None\nraise Odd", "it failed (TypeError)"),
    ],
)
async def test_what_fails_is_left_out_and_reported(plugged: Plugged, source: str, reported: str) -> None:
    good = DENIES.format(reason="good", priority=0, more="")
    pipelines, problems = plugged(a=source, b=good)
    (problem,) = problems
    assert (problem.group, problem.plugin) == (PIPELINE_GROUP, "a")
    assert reported in problem.message
    assert await denied(pipelines) == "good"


async def test_one_that_never_ends_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    source = "import threading\ndef register(pipelines): threading.Event().wait()\n"
    install_package(tmp_path, "handlers_slow", source, {PIPELINE_GROUP: {"slow": "handlers_slow:register"}})
    problems: list[PluginProblem] = []
    pipelines = register_plugins(Pipelines(), problems.append, seconds=0.1)
    assert "did not load within 0.1 seconds" in problems[0].message
    assert not pipelines.has_handlers("tool.before_execute")
