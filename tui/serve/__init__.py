"""The full screen in a browser: each tab has a session of its own, in a process of its own.

`server.py` serves the page, `guard.py` decides who may see it, and `session.py` connects the process of a session with
the tab that shows it. A session that lost its tab is kept for a while, and `page.js` of the next tab joins it. Only
`ua_tui.tui.cli` imports this folder. Start with `server.py`.
"""
