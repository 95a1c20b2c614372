"""The screen of one tool call: its arguments, its result and the files it created.

Imported by the frame when a call is opened. All of it is in `screen.py`; the document that it shows is made by
`ua_tui.tui.viewers.tool_call`.
"""
