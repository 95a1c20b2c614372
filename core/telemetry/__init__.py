"""Traces: the events of a session as OpenTelemetry spans, in a file and, if wanted, at a collector and Logfire.

A collector also gets metrics (`metrics.py`).

Start with `tracer.py`, a subscriber of the bus with its own thread. `span_tree.py` builds the spans, with the help of
`span_maker.py`, `model_turns.py`, `log_lines.py` and `content.py`; `conventions.py` has the standard names.
`exporters.py` exports them, `relay.py` and `otlp_decode.py` take in those of child processes, and `export_errors.py`
has the advice for exports that fail. `environment.py` and `http.py` are quick to import for modules that make requests.
"""
