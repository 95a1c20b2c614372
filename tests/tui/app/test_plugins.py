"""The package in `docs/plugins.md`, installed as it stands there: its viewer and its pane."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observers.plugin_package import install_package
from tests.paths import PROJECT
from tests.tui.app_host import opened
from tests.waiting import until
from ua_tui.core.doctor.machine import check_plugins
from ua_tui.core.events import types as ev
from ua_tui.core.plugins import list_plugins
from ua_tui.core.settings.model import Settings
from ua_tui.tui.cli import main
from ua_tui.tui.panes.spec import add_panes, pane_specs
from ua_tui.tui.viewers.registry import add_viewers, load, viewers

PAGE = (PROJECT / "docs" / "plugins.md").read_text(encoding="utf-8")
BAD = """
from ua_tui.screen_plugins import PaneSpec, Viewer
def fails(sample):
    raise KeyError("oh")
BROKEN = Viewer("BROKEN", fails, fails, priority=200)
LATE = Viewer("LATE", lambda sample: True, fails, priority=199)
TWICE = PaneSpec(name="trace", title="Twice", column="files", order=1, widget="nothing:Here")
NOTHING = 3
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield tmp_path / "site"
    add_panes(())
    add_viewers(())


def install_documented(folder: Path) -> None:
    (source,) = re.findall(r"```python\n(.+?)```", PAGE, flags=re.DOTALL)
    points = re.findall(r'"(ua_tui\.\w+)"\]\n(\w+) = "(.+)"', PAGE)
    assert len(points) == 2
    install_package(folder, "my_screen", source, {group: {name: target} for group, name, target in points})


async def test_the_documented_package_adds_a_viewer_and_a_pane(
    packages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_documented(packages)
    assert list_plugins(print) == ["viewers: ini", "panes: costs"]
    assert (await check_plugins(Settings())).found == "viewers: ini; panes: costs"
    assert (await check_plugins(Settings(plugins=False))).status == "skipped"
    await asyncio.to_thread(main, ["config"])
    assert "  panes: costs" in capsys.readouterr().out.splitlines()

    async with opened(tmp_path, (120, 40)) as (session, app, pilot):
        await until(lambda: any(spec.name == "costs" for spec in pane_specs()))
        await pilot.press("alt+5")
        pane = app.frame.query_one("#costs")
        await until(lambda: pane.has_focus)
        assert str(pane.border_title) == "Costs"
        assert ("costs", "Alt+5") in [(each.name, each.help) for each in app.commands()]
        session.bus.publish(ev.QueryReceived(query_id="q1", text="How much?"))
        session.bus.publish(
            ev.QueryFinished(
                query_id="q1", status="success", duration_ms=1.0, cost_usd=0.25, text="This much."
            )
        )
        await until(lambda: "$0.25  This much." in str(pane.render()))
        await until(lambda: "Costs" in app.export_screenshot())
        settings = tmp_path / "a.ini"
        settings.write_text("[one]\n[two]\n")
        shown = load(settings)
        assert (shown.kind, shown.facts) == ("INI", ("2 sections",))
    # So it is on the next screen of the same program.
    async with opened(tmp_path, (120, 40)) as (_session, app, pilot):
        await until(lambda: [spec.name for spec in pane_specs()].count("costs") == 1)
        await pilot.press("alt+5")
        await until(lambda: app.frame.query_one("#costs").has_focus)
        assert str(app.frame.query_one("#costs").border_title) == "Costs"
        assert app.frame.query_one("#costs").has_class("plugged")


async def test_what_fails_in_a_plug_in_is_left_out_and_reported(packages: Path, tmp_path: Path) -> None:
    points = {
        "ua_tui.viewers": {"broken": "bad:BROKEN", "late": "bad:LATE", "nothing": "bad:NOTHING"},
        "ua_tui.panes": {"twice": "bad:TWICE"},
    }
    install_package(packages, "bad", BAD, points)
    async with opened(tmp_path, (120, 40)) as (_session, app, _pilot):
        await until(lambda: len(viewers()) > 2 and viewers()[0].name == "BROKEN")
        await until(lambda: "plug-in nothing" in app.notice.text and "plug-in trace" in app.notice.text)
        assert [spec.name for spec in pane_specs()].count("trace") == 1
        settings = tmp_path / "a.txt"
        settings.write_text("text")
        assert load(settings).kind == "Text"
