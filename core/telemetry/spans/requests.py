"""The spans of requests: `mcp.request` of a tool call to its server, and `httpx.request` of this program."""

from __future__ import annotations

import msgspec
from opentelemetry.trace import Span, SpanKind

from ua_tui.core.telemetry.http import ServiceRequest
from ua_tui.core.telemetry.spans.content import SpanContent
from ua_tui.core.telemetry.spans.conventions import named
from ua_tui.core.telemetry.spans.maker import SpanMaker
from ua_tui.core.view.calls import FullCall


class CallSpan(msgspec.Struct):
    """A tool call that has not ended: its span and its record.

    It was `sent` to its server at once, or when a person had allowed it, unless it still `waits` for that. `request` is
    the span of that, once it is known to be one.
    """

    span: Span
    record: FullCall
    sent: int
    waits: bool = False
    request: Span | None = None


class RequestSpans:
    """Makes the spans of requests with `spans`; without `content` they do not say which page a call reads."""

    def __init__(self, spans: SpanMaker, content: SpanContent) -> None:
        self._spans = spans
        self._content = content

    def of_call(self, call: CallSpan) -> Span:
        """The span of a call's request to its MCP server, or of the call if its tool is one of the agent itself."""
        prefix, _, rest = call.record.started.name.partition("__")
        if call.request is None and prefix == "mcp":
            server, _, tool = rest.partition("__")
            named = {"mcp.method.name": "tools/call", "server": server, "tool": tool}
            call.request = self._spans.start("mcp.request", call.span, call.sent, SpanKind.CLIENT, **named)
        return call.request or call.span

    def end(self, call: CallSpan, status: str, ended: int, *, ran: bool) -> None:
        """End it with the call; a call that never ran made none."""
        if ran:
            self.of_call(call)
        if call.request is not None:
            if status != "success":
                self._spans.fail(call.request, status, status)
            call.request.end(max(ended, call.sent))

    def add(self, request: ServiceRequest, parent: Span) -> None:
        """Add the span of an HTTP request, which is over."""
        hidden = bool(request.tool_use_id) and not self._content.included
        span = self._spans.start(
            "httpx.request",
            parent,
            request.began,
            SpanKind.CLIENT,
            **{
                "http.request.method": request.method,
                "http.response.status_code": request.status,
                "server.address": None if hidden else request.host,
                "server.port": request.port,
                "url.template": None if hidden else request.route,
                "error.type": request.error,
            },
        )
        if not hidden:
            span.set_attributes(named(title=self._content.short(f"{request.method} {request.route}")))
        if request.error is not None or (request.status or 0) >= 400:
            self._spans.fail(span, request.error or str(request.status), "")
        span.end(request.ended)
