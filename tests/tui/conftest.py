from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

from tests.tui.pictured import Drawn, compact, draw_until


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


@pytest.fixture
def still() -> Iterator[None]:
    """No animation, and one time zone for everybody."""
    with pytest.MonkeyPatch.context() as patch:
        # The variable is read only once, as Textual is imported.
        patch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all processes of this run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture
def snap_compare(
    snap_compare: Callable[..., bool], snapshot: SnapshotAssertion, request: pytest.FixtureRequest
) -> Callable[..., bool]:
    """Compare like the fixture of this name, but wait for a screen whose last change comes late."""

    def compare(
        app: App[Any],
        press: Sequence[str] = (),
        terminal_size: tuple[int, int] = (80, 24),
        run_before: Callable[[Pilot[Any]], Awaitable[None] | None] | None = None,
    ) -> bool:
        if not isinstance(app, Drawn):
            expected = None if request.config.option.update_snapshots else kept_picture(snapshot)
            app = draw_until(app, terminal_size, expected, run_before, press=press)
        return snap_compare(app, terminal_size=terminal_size)

    return compare


def kept_picture(snapshot: SnapshotAssertion) -> str | None:
    """The picture that is kept for a test that compares one, or None before there is one."""
    extension = snapshot.use_extension(SVGImageExtension).extension
    kept = Path(extension.get_location(test_location=snapshot.test_location, index=0))
    return compact(kept.read_text(encoding="utf-8")) if kept.exists() else None
