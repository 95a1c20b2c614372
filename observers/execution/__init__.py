"""Running observers: the queue, the worker threads, the child process for large results, and runs over a past session.

Imported by `tui` and by `ua_tui.observers.catalogue`; observers themselves do not import it. Start with `runner.py`,
whose `ObserverRunner` gets every finished tool call; `run.py` has one run of one observer and its events.
"""
