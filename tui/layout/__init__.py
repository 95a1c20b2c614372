"""The arrangement of the panes: columns, tabs, borders that can be moved, and the file that stores their sizes.

The frame finds the panes by their specs (`tui/panes/panes.json`) and fills them for a `ShownSource`. Only
`ua_tui.tui.app` and `ua_tui.tui.replay` import this folder. Start with `frame.py`.
"""
