"""The feed of the observers: what was saved from each tool result, and what failed.

`pane.py` is the widget, with the statistics above the feed. The layout makes the pane.
"""
