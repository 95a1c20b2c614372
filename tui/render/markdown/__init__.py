"""Markdown as lines of a terminal: parsed by markdown-it-py, laid out for a width, and mapped back to its source.

`renderer.py` renders a complete text, `stream.py` one that grows. Start with `renderer.py`.
"""
