"""Composio: its SDK, a session of its tool router, the user's accounts, and the advice for its errors.

Start with `session.py`, which opens the connection. `sdk.py` is the only module that imports the SDK, in a thread, as
it takes seconds, and turns what the SDK raises into a problem and a remedy; `process.py` uses it in another process, as
it takes 180 MB. Modules that may import `ua_tui.core.connections` may import this folder, too.
"""
