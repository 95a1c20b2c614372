"""Shows files and tool calls: one viewer for each file format, chosen by a registry.

`contract.py` says what a viewer is, `document.py` and `cursor_body.py` what it returns. The folders build on these:
`bodies` (kinds of content), `types` (one module for each format), `tool_call` (calls as documents), `view` (the
widget). `registry.load` turns a path into a document. Start with `contract.py`, then `types/csv.py` as an example.
Screens and panes import this package; it imports neither.
"""
