"""Traces: the events of a session as OpenTelemetry spans, in a file and, if configured, at a collector and Logfire.

Start with `tracer.py`, a subscriber of the bus with its own thread. The folder `spans` builds the spans, `exporters.py`
exports them, `metrics.py` counts for a collector, and `export_session.py` makes the requests to it. `relay.py` and
`otlp_decode.py` take in the spans of the Claude Code CLI, and `export_errors.py` has the advice for exports that
fail. `environment.py` and `http.py` are quick to import for modules that make requests.
"""
