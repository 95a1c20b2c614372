"""Kinds of content that lay themselves out as rows: text, code, JSON trees, tables, Markdown, pictures, hex dumps.

Each body implements `Body` or `CursorBody` and reads no files, except for pictures. Viewers, tool calls and screens
import the bodies; a body imports none of these. Start with `text.py`, then `json_tree.py` for a body with a cursor.
"""
