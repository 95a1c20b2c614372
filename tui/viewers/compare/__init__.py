"""Two versions of a text compared: what differs, and how it is shown.

The comparison of versions (`ua_tui.tui.screens.files.compare`) imports this folder. Start with `readable.py`, which
reads a version as text; `difference.py` compares two texts in a worker process; `body.py` shows the result.
"""
