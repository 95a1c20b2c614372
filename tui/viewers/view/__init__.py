"""The widget that shows a body, and its parts: search, pictures, links, and the lines above and below it.

Panes and screens import it. Start with `document_view.py`.
"""
