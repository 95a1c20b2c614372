"""The panes of the main screen, one folder each: conversation, prompt, trace, observers, workspace and status.

Each has a `pane.py` (the status line a `bar.py`), whose `handle_event` receives the session's events and whose
`show_view` receives its view (`feed.py`): start there. The layout and the app make panes and import them late; panes
import neither of those, no screen, and not each other: they send messages.
"""
