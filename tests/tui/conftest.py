from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from textual._context import active_app
from textual._wait import wait_for_idle
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.notifications import Notification
from textual.pilot import Pilot

from tests.tui.files_host import screen_text
from tests.tui.pictured import Compare, Drawn, compact, look_until, picture_of
from tests.waiting import PATIENCE, PAUSE, run_all_ready
from ua_tui.core.concurrency.conversions import Conversions


@pytest.fixture(scope="session", autouse=True)
def shared_styles() -> Iterator[dict[tuple[object, ...], list[RuleSet]]]:
    """Parse each style sheet once for all applications of a process; gives what was parsed."""
    parse = Stylesheet._parse_rules
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}

    def parse_once(sheet: Stylesheet, css: str, *more: Any, **named: Any) -> list[RuleSet]:
        key = (frozenset(sheet._variables.items()), css, *more, *named.items())
        if key not in parsed:
            parsed[key] = parse(sheet, css, *more, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield parsed


@pytest.fixture(scope="session", autouse=True)
def pilots_wait_for_effects() -> Iterator[None]:
    """Let a pilot wait until all effects of a key, a click or a pause are there and drawn.

    Textual waits for a moment without use of the processor, as there is while a busy machine lets other processes run.
    """

    async def wait(*least_and_most: float) -> None:
        await wait_for_idle(*least_and_most)
        await run_all_ready()
        # A timer draws what has changed; nothing is drawn while another program has the terminal.
        for _ in range(100):
            if not _has_to_draw(active_app.get(None)):
                break
            await asyncio.sleep(PAUSE)
            await run_all_ready()

    with pytest.MonkeyPatch.context() as patch:
        for user in ("app", "pilot"):
            patch.setattr(f"textual.{user}.wait_for_idle", wait)
        yield


def _has_to_draw(app: App[Any] | None) -> bool:
    """Whether the screen in front has changed since it was drawn."""
    if app is None or app._batch_count or not app._running:
        return False
    return any(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._dirty_widgets
        for screen in app.screen_stack[-1:]
    )


@pytest.fixture(scope="session", autouse=True)
def notices_stay() -> Iterator[None]:
    """Keep what was told until a test has read it, which may be late on a busy machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Notification, "has_expired", False)
        yield


@pytest.fixture(scope="session", autouse=True)
def conversions_may_be_slow() -> Iterator[None]:
    """Give a conversion the time that it may need on a busy machine, unless a test limits it to less than a second."""
    run = Conversions.run

    def patient(made: Conversions, task: str, argument: Any, *, seconds: float, **more: Any) -> Any:
        return run(made, task, argument, seconds=seconds if seconds < 1 else max(seconds, PATIENCE), **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Conversions, "run", patient)
        yield


@pytest.fixture(autouse=True)
def letters_answer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a single letter answer a dialog at once; what holds it back has its own tests."""
    monkeypatch.setattr("ua_tui.tui.widgets.dialog.HOLD_SECONDS", 0.0)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No animation."""
    # The variable is read only once, as Textual is imported.
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")


@pytest.fixture(autouse=True)
def one_time_zone() -> Iterator[None]:
    """One time zone for everybody."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


class ScreenText(SingleFileSnapshotExtension):
    """Keeps the plain text of a screen: a change of it can be read in a diff."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT


@pytest.fixture
def snap_compare(
    snap_compare: Callable[..., bool], snapshot: SnapshotAssertion, request: pytest.FixtureRequest
) -> Compare:
    """Compare the screen with the picture that is kept of it; see `look_until` for a last change that comes late."""
    kept = snapshot.use_extension(SVGImageExtension)

    async def compare(pilot: Pilot[Any]) -> None:
        expected = _expected(kept, request)
        picture = await look_until(pilot, None if expected is None else compact(expected), picture_of)
        assert snap_compare(Drawn(picture)), "the screen is not like its picture: see snapshot_report.html"

    return compare


@pytest.fixture
def screen_compare(snapshot: SnapshotAssertion, request: pytest.FixtureRequest) -> Compare:
    """Compare the text of the screen with the one that is kept, also several of one test, each with its name."""
    kept = snapshot.use_extension(ScreenText)

    async def compare(pilot: Pilot[Any], name: str = "") -> None:
        text = await look_until(pilot, _expected(kept, request, name), shown_text)
        assert text == kept(name=name)

    return compare


def shown_text(app: App[Any]) -> str:
    """The text of a screen, as a file has it."""
    return f"{screen_text(app)}\n"


def _expected(kept: SnapshotAssertion, request: pytest.FixtureRequest, name: str = "") -> str | None:
    """What is kept for a test, or None before there is something, and where it is written anew."""
    path = Path(kept.extension.get_location(test_location=kept.test_location, index=name or 0))
    if request.config.option.update_snapshots or not path.exists():
        return None
    return path.read_text(encoding="utf-8")
