"""Two versions of a text compared: what differs, and how it is shown.

The comparison of versions (`ua_tui.tui.screens.files.compare`) imports this folder. Start with
`difference.py`, which reads two versions as text and compares them in a worker process; `body.py` shows the result.
"""
