"""The trace: every tool call as a row of a tree, under the query and the sub-agent that made it.

Start at `pane.py`, the widget. `tree.py` turns events into the rows of `calls.py`, `tree_rows.py` has the filter and
lists the visible rows, and `rows.py` draws them. The layout makes the pane; `ua_tui.tui.replay` gives it the calls of a
journal.
"""
