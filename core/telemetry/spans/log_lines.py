"""The events that become spans without duration, which Logfire shows as log lines: one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ua_tui.core.events import types as ev

INFO: Mapping[str, Any] = {"logfire.span_type": "log", "logfire.level_num": 9}
"""The attributes of a log line."""
_ERROR: Mapping[str, Any] = {**INFO, "logfire.level_num": 17}


@dataclass(frozen=True)
class LogLine:
    """How an event is logged: the name of the span, its attributes with the fields they are from, and its parent."""

    name: str
    fields: Mapping[str, str]
    parent: Literal["query", "turn", "call"] = "query"
    is_error: bool = False

    @property
    def level(self) -> Mapping[str, Any]:
        """The attributes of its level."""
        return _ERROR if self.is_error else INFO

    def attributes(self, event: ev.Event) -> dict[str, Any]:
        """The attributes of the span of an event."""
        return {name: getattr(event, field) for name, field in self.fields.items()}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_OF_COMPLIANCE = _same("subagent", "rule", "message")
LOG_LINES: Mapping[type[ev.Event], LogLine] = {
    ev.QueryClassified: LogLine(
        "query_classification", _same("decision", "source", "raw_response", "duration_ms")
    ),
    ev.PathFellBack: LogLine("fast_path_fallback", _same("tool_name")),
    ev.PermissionModeChanged: LogLine("permission_mode_changed", _same("previous", "mode", "by")),
    ev.ArtifactSaved: LogLine(
        "observer_artifact_saved", _same("path", "size", "observer") | {"type": "kind"}, "call"
    ),
    ev.ReportChecked: LogLine(
        "report_checked",
        _same("report", "check", "unsupported", "doubtful", "summary", "duration_ms"),
        "call",
    ),
    ev.ObserverFinished: LogLine(
        "observer_error", _same("observer", "error") | {"tool_id": "tool_use_id"}, "call", is_error=True
    ),
    ev.ComplianceFailed: LogLine("subagent_compliance_failed", _OF_COMPLIANCE, "turn", is_error=True),
    ev.ComplianceEnforced: LogLine("subagent_compliance_enforced", _OF_COMPLIANCE, "turn"),
}


def log_line_of(event: ev.Event) -> LogLine | None:
    """How an event is logged; None if it is not: only an observer that fails is."""
    if isinstance(event, ev.ObserverFinished) and event.status != "failed":
        return None
    return LOG_LINES.get(type(event))
