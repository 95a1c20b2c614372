"""Pure functions from text and events to styled lines: Markdown, tables, source code, numbers and short messages.

Nothing here knows an application or a widget. Panes, screens, viewers and plain mode import it. Start with
`layout.py` for lines and wrapping, `markdown/` for Markdown, `format.py` for states, times and cut texts.
"""
