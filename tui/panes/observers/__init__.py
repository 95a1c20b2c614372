"""The feed of the observers: what was saved from each tool result, and what failed.

`pane.py` is the widget and the place to start; `table.py` draws the statistics above the feed. The layout makes the
pane.
"""
