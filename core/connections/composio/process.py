"""A process that uses Composio's SDK for this one: the SDK takes 180 MB, none of which an open session needs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.concurrency.garbage_collection import deferred
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess
from ua_tui.core.errors import Advice, ConnectionFailed
from ua_tui.core.log import log
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest, ServiceRequest

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext


class SdkProcess:
    """Runs functions that use the SDK, one at a time; call it in threads.

    Args:
        settings: the first argument of each function.
        on_request: is called with the requests that a function makes.
    """

    def __init__(self, settings: Settings, on_request: OnRequest | None = None) -> None:
        self._settings = pickle.dumps(settings)
        self._on_request = on_request
        self._worker = WorkerProcess()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a function of a module with the settings, the report of requests, and `args`, which msgpack can encode.

        Raises:
            ConnectionFailed: the function raised it, or the process could not be started or ended before its time.
        """
        name = f"{function.__module__}:{function.__name__}"
        try:
            failure, code, value = self._worker.call(
                f"{__name__}:call_in_child", (name, self._settings, args), on_part=self._report
            )
        except WorkerFailed as error:
            raise ConnectionFailed(
                f"the process that asks Composio ended ({type(error).__name__})"
            ) from error
        if failure is None:
            return value
        advice = msgspec.convert(failure, Advice)
        log.info("%s", advice.problem)
        raise ConnectionFailed(advice, code=code)

    def close(self) -> None:
        """End the process, even during a call, which fails then."""
        self._worker.close()

    def _report(self, request: Any) -> None:
        if self._on_request is not None:
            self._on_request(msgspec.convert(request, ServiceRequest))


def call_in_child(desk: TaskContext, asked: Any) -> tuple[Advice | None, str, Any]:
    """Run a function in the process; returns the advice and the code of its failure, and its result."""
    name, settings, args = asked
    module, _, function = name.partition(":")
    # The first one imports the SDK.
    with deferred():
        try:
            value = getattr(import_module(module), function)(
                pickle.loads(settings),  # noqa: S301 - from our own process
                lambda request: desk.say("part", msgspec.to_builtins(request)),
                *args,
            )
        except ConnectionFailed as failure:
            return failure.advice, failure.code, None
    return None, "", value
