"""The screens and dialogs above the panes, in a folder for each group.

A screen is a `Modal` of `ua_tui.tui.widgets`, a dialog with answers a `Dialog`. It shows what it is given and closes
with a result; controllers of `ua_tui.tui.app` open it and use the result. Screens import viewers and what is below
them, but neither panes nor the application. Start with `session/status.py`, the smallest one, and
`requests/permission.py`, a complete dialog.
"""
