from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from textual.app import App, ComposeResult

from core.events.describe import describe_plan
from core.events.types import (
    AgentSilent,
    ApiRetry,
    AuthFinished,
    AuthRequired,
    Event,
    McpServer,
    McpStatus,
    MessageFinished,
    PathFellBack,
    PermissionAnswered,
    PermissionAsked,
    PermissionModeChanged,
    PlanLimit,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    TextDelta,
    TokensSpent,
    ToolCallStarted,
    UntrustedTextRead,
    Usage,
)
from tests.paths import STYLES
from tui.panes.status.bar import StatusLine
from tui.panes.status.facts import StatusFacts
from tui.panes.status.layout import short_count, short_model, short_time

STARTED = SessionStarted(
    session_id="s", workspace="/w", cwd="/c", version="1", model="claude-sonnet-4-5-20250929", demo=True
)
RECEIVED = QueryReceived(query_id="q", text="x")


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
        self.line.handle_events(events)
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


async def test_a_silence_is_counted_until_something_comes() -> None:
    app = StatusApp()
    async with app.run_test(size=(80, 5)):
        app.truth = "running"
        app.line.follow(lambda: app.truth)
        app.line.escape = "stops"
        assert "thinking" in app.shown(STARTED, RECEIVED)
        app.now = 130.0
        assert "no answer 30s" in app.shown(AgentSilent(query_id="q", silent_ms=30_000))
        app.now = 134.0
        text = app.shown()
        assert "no answer 34s" in text
        assert "Esc stops" in text
        assert "thinking" in app.shown(AgentSilent(query_id="q", over=True))
        call = AgentSilent(query_id="q", waits_for="tool", name="crawl_parallel, " * 9, silent_ms=30_000)
        assert "crawl_parallel" in app.shown(call)
        app.truth = "idle"
        assert "ready" in app.shown(QueryFinished(query_id="q", status="interrupted"))
        app.truth = "running"
        assert "thinking" in app.shown(RECEIVED)


async def test_it_shows_what_the_query_does_and_cost() -> None:
    app = StatusApp()
    async with app.run_test(size=(160, 5)):
        app.truth = "running"
        app.line.follow(lambda: app.truth)
        assert "thinking" in app.shown(STARTED, RECEIVED)
        assert "direct" not in app.shown(QueryClassified(query_id="q", decision="SIMPLE", source="rule"))
        assert "writing" in app.shown(TextDelta(query_id="q", message_id="m", text="a"))
        assert "tools" in app.shown(ToolCallStarted(query_id="q", tool_use_id="t", name="n"))
        assert "agent" not in app.shown(PathFellBack(query_id="q", tool_name="n"))
        assert "retry 2" in app.shown(ApiRetry(attempt=2, max_attempts=10, delay_ms=500))
        usage = Usage(input_tokens=30_000, output_tokens=8_000)
        app.now = 141.0
        text = app.shown(
            MessageFinished(query_id="q", message_id="m", text="a", usage=usage),
            TokensSpent(query_id="q", message_id="m", usage=usage, cost_usd=0.2),
        )
        assert "~$0.20" in text
        assert "38k tok" in text
        assert "ctx  38k" in text
        assert "41s" in text
        app.truth = "idle"
        text = app.shown(
            QueryFinished(
                query_id="q",
                status="success",
                duration_ms=42_000,
                cost_usd=0.207,
                usage=usage,
                context_window=200_000,
            )
        )
        assert "ctx  19%" in text
        assert "ready" in text
        assert "$0.21" in text
        assert "38k tok" in text
        assert "42s" in text


async def test_cells_stay_where_they_are_while_their_values_change() -> None:
    app = StatusApp()
    async with app.run_test(size=(160, 5)):
        app.truth = "running"
        app.line.follow(lambda: app.truth)
        before = app.shown(STARTED, RECEIVED)
        app.now = 4000.0
        usage = Usage(input_tokens=150_000)
        after = app.shown(
            QueryClassified(query_id="q", decision="COMPLEX", source="rule"),
            MessageFinished(query_id="q", message_id="m", text="a", usage=usage),
            TextDelta(query_id="q", message_id="m", text="a"),
        )
        for mark in ("tok", "ctx", "sonnet", "perm: ask"):
            assert before.index(mark) == after.index(mark)


async def test_demo_state_and_failed_servers_are_never_dropped() -> None:
    app = StatusApp()
    servers = [
        McpServer(name="local_toolkit", status="connected", tools=5),
        McpServer(name="composio\x1b[2J", status="failed", error="401"),
    ]
    async with app.run_test(size=(40, 5)):
        app.truth = "running"
        app.line.follow(lambda: app.truth)
        text = app.shown(STARTED, RECEIVED, McpStatus(servers=servers))
        assert "DEMO" in text
        assert "thinking" in text
        assert "✗ 1/2" in text
        assert len(text) <= 38


async def test_servers_that_are_fine_or_on_their_way_are_no_warning() -> None:
    app = StatusApp()
    servers = [McpServer(name="a", status="connected"), McpServer(name="b", status="pending")]
    async with app.run_test(size=(160, 5)):
        text = app.shown(McpStatus(servers=servers))
        assert "mcp 1/2" in text
        assert "✗" not in text


async def test_a_mode_that_was_chosen_is_shown_on_a_small_screen() -> None:
    app = StatusApp()
    async with app.run_test(size=(64, 5)):
        started = SessionStarted(session_id="s", workspace="/w", cwd="/c", version="1")
        assert "perm:" not in app.shown(started, McpStatus(servers=[McpServer(name="a", status="connected")]))
        assert "perm: plan" in app.shown(PermissionModeChanged(previous="default", mode="plan"))
        assert "perm: ALLOW ALL" in app.shown(
            PermissionModeChanged(previous="plan", mode="bypassPermissions")
        )


async def test_what_waits_for_the_person_comes_first() -> None:
    app = StatusApp()
    async with app.run_test(size=(160, 5)):
        asked = PermissionAsked(request_id="r", tool_name="Bash")
        assert "needs you" in app.shown(asked)
        done = PermissionAnswered(request_id="r", tool_name="Bash", decision="deny")
        assert "needs you" not in app.shown(done)
        auth = AuthRequired(toolkit="gmail", url="https://a.example")
        finished = QueryFinished(query_id="q", status="success")
        assert "needs you" in app.shown(auth, finished)
        assert "needs you" not in app.shown(AuthFinished(toolkit="gmail", outcome="completed"))


async def test_skipping_permissions_is_shown_at_every_width() -> None:
    app = StatusApp()
    started = SessionStarted(
        session_id="s", workspace="/w", cwd="/c", version="1", permission_mode="bypassPermissions"
    )
    async with app.run_test(size=(60, 5)):
        assert "perm: ALLOW ALL" in app.shown(started)


async def test_untrusted_text_is_shown_at_every_width() -> None:
    for width, shown in ((200, "untrusted text read"), (80, "untrusted")):
        app = StatusApp()
        async with app.run_test(size=(width, 1)):
            assert "untrusted" not in app.shown(STARTED, RECEIVED)
            assert shown in app.shown(UntrustedTextRead(what="1 file since 12:00"))
            assert ("Read", "1 file since 12:00: what can carry data out asks") in app.line.describe()


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
    assert describe_plan(near, now) == f"91% of the limit for five hours is used; it resets at {hour}"
    assert describe_plan(near, near.resets_at) == f"the limit for five hours was reset at {hour}"
    assert describe_plan(reached, now) == f"the limit for a week is reached; it resets at {day}"
    facts = StatusFacts()
    facts.handle_event(msgspec.structs.replace(near, resets_at=now - timedelta(days=400)))
    assert dict(facts.describe())["Plan"].startswith("the limit for five hours was reset at")


async def test_nothing_ticks_while_nothing_runs() -> None:
    app = StatusApp()
    async with app.run_test(size=(160, 5)) as pilot:
        app.line.follow(lambda: app.truth)
        await pilot.pause()
        assert not [timer for timer in app.line._timers if timer.name == "status spinner"]
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
            query_id="q", decision="COMPLEX", source="rule", raw_response="it says “research”"
        )
        at = app.shown(STARTED, RECEIVED, decided).index("ctx")
        await pilot.pause()
        await pilot.click(StatusLine, offset=(at + 2, 0))
        await pilot.pause()
        [opened] = app.opened
        assert not opened.command
        assert any("full agent, chosen by a rule: it says “research”" in text for _, text in opened.rows)
        await pilot.click(StatusLine, offset=(at - 1, 0))
        await pilot.pause()
        assert len(app.opened) == 1


async def test_pointing_at_the_line_shows_the_present_status() -> None:
    app = StatusApp()
    async with app.run_test(size=(120, 5)):
        assert "not chosen yet" in str(app.line.tooltip)
        app.shown(RECEIVED, QueryClassified(query_id="q", decision="SIMPLE", source="model"))
        assert "direct answer, chosen by the model" in str(app.line.tooltip)
