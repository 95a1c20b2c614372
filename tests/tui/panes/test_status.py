from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from textual.app import App, ComposeResult

from tests.paths import STYLES
from tests.tui.pane_host import handle_events, note_events
from ua_tui.core.events.describe import describe_plan
from ua_tui.core.events.types import (
    Event,
    PlanLimit,
    QueryClassified,
    QueryReceived,
    SessionStarted,
)
from ua_tui.tui.panes.status.bar import StatusLine
from ua_tui.tui.panes.status.facts import StatusFacts
from ua_tui.tui.panes.status.layout import short_count, short_model, short_time

STARTED = SessionStarted(
    session_id="s", workspace="/w", cwd="/c", version="1", model="claude-sonnet-4-5-20250929", demo=True
)
RECEIVED = QueryReceived(query_id="q", text="x", at=datetime.fromtimestamp(100.0, UTC))


class StatusApp(App[None]):
    CSS_PATH = STYLES / "status.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.now = 100.0
        self.truth = "idle"
        self.opened: list[StatusLine.Opened] = []

    def compose(self) -> ComposeResult:
        yield StatusLine(StatusFacts(clock=lambda: self.now))

    def on_status_line_opened(self, event: StatusLine.Opened) -> None:
        self.opened.append(event)

    @property
    def line(self) -> StatusLine:
        return self.query_one(StatusLine)

    def shown(self, *events: Event) -> str:
        handle_events(self.line, events)
        return str(self.line.render())


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.9, "59s"), (724, "12m04s"), (11220, "3h07m"), (-3, "0s")]
)
def test_times_fit_six_cells(seconds: float, text: str) -> None:
    assert short_time(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (9_949, "9.9k"), (9_951, "10k"), (38_000, "38k"),
     (999_600, "1.0M"), (1_400_000, "1.4M"), (10**13, "lots")],
)  # fmt: skip
def test_counts_fit_four_cells(number: int, text: str) -> None:
    assert short_count(number) == text
    assert len(text) <= 4


def test_model_names_lose_vendor_and_date() -> None:
    assert short_model("claude-sonnet-4-5-20250929") == "sonnet-4-5"
    assert short_model("glm-4.6") == "glm-4.6"
    assert len(short_model("a-very-long-name-of-some-local-model-q4_k_m")) <= 20


def test_the_limit_of_a_plan_is_described_until_it_was_reset_and_afterwards() -> None:
    now = datetime.now(UTC).replace(hour=12, minute=0)
    near = PlanLimit(
        at=now,
        status="allowed_warning",
        kind="five_hour",
        utilization=0.91,
        resets_at=now + timedelta(hours=1),
    )
    reached = PlanLimit(at=now, status="rejected", kind="seven_day", resets_at=now + timedelta(days=3))
    assert near.resets_at is not None
    assert reached.resets_at is not None
    hour, day = f"{near.resets_at.astimezone():%H:%M}", f"{reached.resets_at.astimezone():%H:%M on %d %B}"
    assert describe_plan(near, now) == f"91% of the five-hour limit is used; it resets at {hour}"
    assert describe_plan(near, near.resets_at) == f"the five-hour limit was reset at {hour}"
    assert describe_plan(reached, now) == f"the weekly limit is reached; it resets at {day}"
    facts = StatusFacts()
    note_events(facts, msgspec.structs.replace(near, resets_at=now - timedelta(days=400)))
    assert dict(facts.describe())["Plan"].startswith("the five-hour limit was reset at")


async def test_nothing_ticks_while_nothing_runs() -> None:
    app = StatusApp()
    async with app.run_test(size=(160, 5)) as pilot:
        assert app.line._timer is not None, "the session is starting"
        app.line.follow(lambda: app.truth)
        await pilot.pause()
        assert app.line._timer is None
        app.truth = "running"
        app.shown(RECEIVED)
        assert app.line._timer is not None
        app.truth = "idle"
        app.shown()
        assert app.line._timer is None


async def test_stopping_counts_its_own_seconds() -> None:
    app = StatusApp()
    async with app.run_test(size=(120, 3)):
        app.line.follow(lambda: app.truth)
        app.truth = "running"
        app.shown(STARTED, RECEIVED)
        app.now += 41
        assert "41s" in app.shown()
        app.truth = "stopping"
        app.shown()
        app.now += 2
        text = app.shown()
        assert "stopping…" in text
        assert " 2s" in text
        assert "43s" not in text
        app.truth = "idle"
        app.now += 1
        assert "44s" in app.shown()


async def test_a_click_on_a_cell_shows_everything_in_sentences() -> None:
    app = StatusApp()
    async with app.run_test(size=(120, 5)) as pilot:
        decided = QueryClassified(
            query_id="q", decision="COMPLEX", source="rule", raw_response="the query says “research”"
        )
        at = app.shown(STARTED, RECEIVED, decided).index("sonnet-4-5")
        await pilot.pause()
        await pilot.click(StatusLine, offset=(at + 2, 0))
        await pilot.pause()
        [opened] = app.opened
        assert not opened.command
        said = dict(app.line.facts.describe())["Path"]
        assert "full agent, chosen by a rule (the query says “research”)" in said
        await pilot.click(StatusLine, offset=(at - 1, 0))
        await pilot.pause()
        assert len(app.opened) == 1


async def test_the_whole_status_is_the_present_one() -> None:
    app = StatusApp()
    async with app.run_test(size=(120, 5)):
        assert "not chosen yet" in str(app.line.facts.describe())
        app.shown(RECEIVED, QueryClassified(query_id="q", decision="SIMPLE", source="model"))
        assert "direct answer, chosen by the model" in str(app.line.facts.describe())
