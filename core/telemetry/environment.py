"""Where spans are exported, and the environment with which the spans of the Claude Code CLI join the trace.

Read from the standard `OTEL_*` variables and from the token for Logfire. Quick to import.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from ua_tui.core.text import clean_line

_HTTP = "http/protobuf"
_EXPORT_EVERY_MS, _LAST_EXPORT_MS = "1000", "4000"
"""The agent is ended when it has not ended after 5 seconds."""


class Exports(msgspec.Struct, frozen=True, kw_only=True):
    """Where the spans of a session are sent.

    Attributes:
        logfire: whether there is a token for Logfire.
        collector: the host and port of an OTLP collector; None without one.
        metrics: the host and port that metrics are sent to; None if they are not.
        protocol: the protocol that the environment asks for, when that is not `http/protobuf`.
        agent: whether the spans of the agent's command line are sent, too.
    """

    logfire: bool = False
    collector: str | None = None
    metrics: str | None = None
    protocol: str = ""
    agent: bool = False

    @classmethod
    def of(cls, *, token: str | None, environ: Mapping[str, str], agent: bool = False) -> Self:
        """Read them from the environment; with `OTEL_SDK_DISABLED=true` nothing is exported."""
        if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            return cls()
        shared = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
        endpoint = environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or shared
        if environ.get("OTEL_TRACES_EXPORTER", "").lower() not in {"", "otlp"}:
            endpoint = None
        metrics = _metrics_endpoint(environ, shared, is_exporting=endpoint is not None)
        found = cls(logfire=bool(token), metrics=metrics, agent=agent)
        if not endpoint:
            return found
        protocol = environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or environ.get(
            "OTEL_EXPORTER_OTLP_PROTOCOL", ""
        )
        other = clean_line(protocol, 20) if protocol not in {"", _HTTP} else ""
        return replace(found, collector=_host_of(endpoint), protocol=other)

    @property
    def any(self) -> bool:
        """Whether spans are exported at all."""
        return self.logfire or self.collector is not None

    def describe(self) -> list[str]:
        """Name the destinations."""
        names = ["Logfire"] if self.logfire else []
        if self.collector is not None:
            names.append(self.describe_collector())
        if self.metrics not in {None, self.collector}:
            names.append(f"OTLP at {self.metrics} (metrics)")
        return names

    def describe_collector(self) -> str:
        """Name the collector of the spans."""
        note = f" ({_HTTP}; {self.protocol} is not supported)" if self.protocol else ""
        return f"OTLP at {self.collector}{note}"


def agent_environment(relay: str, parent: str) -> dict[str, str]:
    """The variables with which the agent sends its spans to `relay` as children of `parent`, a `traceparent`.

    It learns neither the collector's address nor any header or token, and sends no metrics and no logs.
    """
    return {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_TRACES_EXPORT_INTERVAL": _EXPORT_EVERY_MS,
        "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS": _LAST_EXPORT_MS,
        "TRACEPARENT": parent,
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": _HTTP,
        "OTEL_EXPORTER_OTLP_ENDPOINT": relay,
    }


def _metrics_endpoint(environ: Mapping[str, str], shared: str | None, *, is_exporting: bool) -> str | None:
    """Where metrics go: where spans go, unless the environment names a place or an exporter for metrics alone."""
    chosen = environ.get("OTEL_METRICS_EXPORTER", "").lower()
    own = environ.get("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
    if chosen not in {"", "otlp"} or not (own or (shared and (is_exporting or chosen))):
        return None
    return _host_of(own or shared or "")


def _host_of(address: str) -> str:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    shown = clean_line(host or "an unreadable address")
    return f"{shown}:{port}" if port else shown
