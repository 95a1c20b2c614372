"""Markdown as lines of a terminal: parsed by markdown-it-py, and laid out for a width.

`renderer.py` renders a complete text, `stream.py` one that grows. Start with `renderer.py`.
"""
