"""A tool call as a document: its arguments, its result and its pictures in sections that fold.

The screen of a tool call imports it. Start with `body.py`, which also reads a result that was too large for
its event.
"""
