"""The spans of a session, made of its events. Only telemetry imports this folder, and the records name the session.

Start with `tree.py`, which handles the events with the help of `maker.py`. `conventions.py` has the standard names of
what spans and metrics state.
"""
