"""The trace: every tool call as a row of a tree, under the query and the sub-agent that made it.

Start at `pane.py`, the widget. `tree.py` turns events into rows, `tree_rows.py` has the filter, and puts
those that no fold and no filter hides into the list, and `rows.py` has the records of the calls and draws them. The
layout makes the pane; `ua_tui.tui.replay` gives it the calls of a journal.
"""
