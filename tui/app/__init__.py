"""The full-screen application: mounts the screen, runs workers, and passes keys and events on.

`app.py` has the application, and `controllers/` what it does with events and messages. `event_pump.py` brings the
session's events to them and to the panes. Only `ua_tui.tui.replay` and `ua_tui.tui.cli` import this folder. Start with
`app.py`.
"""
