"""One run of one observer, its outcome, and its events."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from dataclasses import asdict, replace

import msgspec

from ua_tui.core.errors import ObserverError, UniversalAgentError, WorkspaceError
from ua_tui.core.events.types import ArtifactSaved, Event, ObserverFinished, ObserverStarted
from ua_tui.core.log import log
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.paths import short_id
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.observers.base import Interest, Observer, ObserverContext, Outcome

# Built as the module is imported: see `ua_tui.core.events.codec`.
msgspec.json.Decoder(Outcome)


class Run(msgspec.Struct):
    """One run of one observer on one result.

    The events of a `curious` run are published together when it is over, and never when it is `silent`.
    Either way each `observer_started` has exactly one `observer_finished`.
    """

    observer: str
    tool_name: str
    tool_use_id: str
    curious: bool = False
    run_id: str = msgspec.field(default_factory=short_id)
    outcome: Outcome = Outcome()
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
        """Whether the finished run is not reported: it was made with `Interest.CURIOUS` and found nothing."""
        known = self.outcome.duplicates or self.outcome.rejected
        return self.curious and self.status == "skipped" and not known

    def fail(self, error: BaseException) -> None:
        """Store why the run failed, and log it; with a traceback unless the error is one of the program's own."""
        if isinstance(error, UniversalAgentError):
            self.error = clean_line(str(error), 500)
            log.warning("observer %s: %s", self.label, self.error)
        else:
            self.error = clean_line(f"{type(error).__name__}: {error}", 500)
            log.error("observer %s failed", self.label, exc_info=error)

    @property
    def label(self) -> str:
        """A description of the run, for a list of lost runs."""
        return f"{self.observer} of {clean_line(self.tool_name, 80)} ({clean_line(self.tool_use_id, 60)})"

    def started(self) -> Event:
        """The event that the run started."""
        return ObserverStarted(run_id=self.run_id, observer=self.observer, tool_use_id=self.tool_use_id)

    def finished(self, *, announced: bool) -> Iterator[Event]:
        """The events of a finished run, if it is reported.

        First `started` unless it was `announced` before, then what was saved, and last that the observer is done.
        """
        if not announced:
            if self.silent:
                return
            yield self.started()
        for saved in self.outcome.artifacts:
            facts = asdict(saved)
            yield ArtifactSaved(observer=self.observer, tool_use_id=self.tool_use_id, **facts)
        if self.outcome.checked is not None:
            yield msgspec.structs.replace(self.outcome.checked, tool_use_id=self.tool_use_id)
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


def planned_run(observer: Observer, result: ToolResult) -> Run | None:
    """The run of an observer on a result, or None if it wants neither the call nor, by `wants_result`, the result.

    The run has an `error` already if the observer's `wants` raised or returned something that is no answer.
    """
    interest, problem = Interest.SURE, None
    try:
        interest = _interest_of(observer, result.call)
        wants_result = getattr(observer, "wants_result", None)
        if not interest and wants_result is not None and wants_result(result):
            interest = Interest.SURE
    except ObserverError as error:
        problem = str(error)
    if not interest:
        return None
    curious = interest is Interest.CURIOUS
    return Run(observer.name, result.call.name, result.call.tool_use_id, curious, error=problem)


def _interest_of(observer: Observer, call: ToolCall) -> Interest:
    try:
        answer: object = observer.wants(call)
    except Exception as error:
        log.exception("observer %s could not say whether it wants a tool call", observer.name)
        raise ObserverError(
            f"its `wants` raised {type(error).__name__}: {clean_line(str(error), 400)}"
        ) from error
    match answer:
        case Interest():
            return answer
        case bool():
            return Interest.SURE if answer else Interest.NONE
        case _:
            _dispose(answer)
            raise ObserverError(f"its `wants` returned {_kind(answer)}: return True, False or an Interest")


def perform(run: Run, observer: Observer, result: ToolResult, context: ObserverContext) -> Run:
    """Run an observer and store its outcome; an exception becomes the run's `error`.

    So does an impossible outcome; those of its artifacts that exist are still reported.
    """
    started = time.perf_counter()
    try:
        run.outcome, wrong = _checked(observer.observe(result, context), context.workspace)
        if wrong is not None:
            raise ObserverError(wrong)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A plug-in that calls `sys.exit` must not end the thread that works for every observer.
        run.fail(error)
    run.duration_ms = (time.perf_counter() - started) * 1_000
    return run


def _checked(outcome: object, workspace: Workspace) -> tuple[Outcome, str | None]:
    """The valid part of an outcome, and the problem with the rest."""
    if not isinstance(outcome, Outcome):
        _dispose(outcome)
        return Outcome(), f"its `observe` returned {_kind(outcome)}: return an Outcome"
    try:
        outcome = msgspec.convert(asdict(outcome), Outcome)
    except msgspec.ValidationError as error:
        return Outcome(), f"its outcome is not valid: {clean_line(str(error), 200)}"
    missing = [saved.path for saved in outcome.artifacts if not _is_file(workspace, saved.path)]
    if not missing:
        return outcome, None
    there = tuple(saved for saved in outcome.artifacts if saved.path not in missing)
    return (
        replace(outcome, artifacts=there),
        f"the outcome names '{clean_line(missing[0], 200)}', which is not in the workspace: "
        "write through context.workspace and give its path there",
    )


def _is_file(workspace: Workspace, path: str) -> bool:
    try:
        return workspace.root.size(workspace.artifact_path(path)) >= 0
    except (WorkspaceError, UnicodeEncodeError):
        return False


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a value of the type {clean_line(type(value).__name__, 60)}"


def _dispose(value: object) -> None:
    if inspect.iscoroutine(value):
        # It would complain, on the screen, that nobody awaited it.
        value.close()
