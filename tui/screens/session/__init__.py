"""Screens about the session: its model, budget, queue and status, quitting it, and the list of all sessions.

Imported by the controllers of the application when one of them is opened. Start with `budget.py`, a dialog with
one input line; `sessions.py` is the largest screen. `open_session.py` opens another session in a child process.
"""
