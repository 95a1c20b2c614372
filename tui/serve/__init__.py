"""The full screen in a browser: each tab has a session of its own, in a process of its own.

`server.py` serves the page, `guard.py` decides who may see it, and `tab.py` connects a tab with the process of its
session. Only `ua_tui.tui.cli` imports this folder. Start with `server.py`.
"""
