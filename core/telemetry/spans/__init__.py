"""The spans of a session, made from its events.

Telemetry imports this folder, and the records import `Labels` from it to name the session.

Start with `tree.py`, which handles the events with the help of `maker.py`. `conventions.py` has the standard names of
what spans and metrics state.
"""
