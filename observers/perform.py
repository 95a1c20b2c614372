"""One run of one observer: what came of it, and the events that tell of it."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.errors import UniversalAgentError
from core.events import ArtifactSaved, Event, ObserverFinished, ObserverStarted
from core.names import short_id
from core.observation import ToolResult
from core.text import clean_line
from observers.base import Observer, ObserverContext, Outcome

__all__ = ["ObserverMetrics", "Run", "perform"]

_log = logging.getLogger(__name__)
_KEPT_TIMES = 1_024


@dataclass(slots=True)
class ObserverMetrics:
    """What an observer has done so far; times in milliseconds, over the last thousand runs."""

    runs: int = 0
    saved: int = 0
    skipped: int = 0
    failed: int = 0
    items: int = 0
    _times: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT_TIMES))

    def count(self, run: Run) -> None:
        """Add one finished run."""
        self.runs += 1
        self.items += run.outcome.items
        self._times.append(run.duration_ms)
        match run.status:
            case "saved":
                self.saved += 1
            case "skipped":
                self.skipped += 1
            case _:
                self.failed += 1

    @property
    def p50_ms(self) -> float:
        """Half of the runs took no longer than this."""
        return self._quantile(0.5)

    @property
    def p95_ms(self) -> float:
        """All but one in twenty runs took no longer than this."""
        return self._quantile(0.95)

    def _quantile(self, part: float) -> float:
        times = sorted(self._times)
        return times[min(int(len(times) * part), len(times) - 1)] if times else 0.0


@dataclass(slots=True)
class Run:
    """One observer at work on one result.

    The events of a `curious` run are published together when it is over, and never when it is `silent`.
    Either way each `observer_started` has exactly one `observer_finished`.
    """

    observer: str
    tool_name: str
    tool_use_id: str
    curious: bool = False
    run_id: str = field(default_factory=short_id)
    outcome: Outcome = field(default_factory=Outcome)
    error: str | None = None
    duration_ms: float = 0.0

    @property
    def status(self) -> str:
        """`saved`, `skipped` or `failed`."""
        if self.error is not None:
            return "failed"
        return "saved" if self.outcome.artifacts else "skipped"

    @property
    def silent(self) -> bool:
        """Whether the finished run is nobody's business: it looked out of curiosity and found nothing."""
        known = self.outcome.duplicates or self.outcome.rejected
        return self.curious and self.status == "skipped" and not known

    @property
    def label(self) -> str:
        """The run in words, for a list of what was lost."""
        return f"{self.observer} of {clean_line(self.tool_name, 80)} ({clean_line(self.tool_use_id, 60)})"

    def started(self) -> Event:
        """The event that the observer took up the result."""
        return ObserverStarted(run_id=self.run_id, observer=self.observer, tool_use_id=self.tool_use_id)

    def finished(self, *, announced: bool) -> Iterator[Event]:
        """The events of a run that is over, as far as anybody is to hear of it.

        First `started` unless it was `announced` before, then what was saved, and last that the observer is done.
        """
        if not announced:
            if self.silent:
                return
            yield self.started()
        for saved in self.outcome.artifacts:
            yield ArtifactSaved(
                path=saved.path,
                kind=saved.kind,
                size=saved.size,
                sha256=saved.sha256,
                observer=self.observer,
                tool_use_id=self.tool_use_id,
                copied_to=saved.copied_to,
            )
        yield ObserverFinished(
            run_id=self.run_id,
            observer=self.observer,
            tool_use_id=self.tool_use_id,
            status=self.status,  # type: ignore[arg-type]  # one of the three words of the event
            artifacts=[saved.path for saved in self.outcome.artifacts],
            items=self.outcome.items,
            rejected=self.outcome.rejected,
            duplicates=self.outcome.duplicates,
            duration_ms=self.duration_ms,
            error=self.error,
            note=clean_line(self.outcome.note, 500) if self.outcome.note else None,
        )


def perform(run: Run, observer: Observer, result: ToolResult, context: ObserverContext) -> Run:
    """Run an observer and note what came of it; whatever it raises becomes the run's `error`."""
    started = time.perf_counter()
    try:
        run.outcome = observer.observe(result, context)
    except UniversalAgentError as error:
        run.error = clean_line(str(error), 500)
        _log.warning("observer %s: %s", run.label, run.error)
    except Exception as error:
        run.error = clean_line(f"{type(error).__name__}: {error}", 500)
        _log.exception("observer %s failed", run.label)
    run.duration_ms = (time.perf_counter() - started) * 1_000
    return run
