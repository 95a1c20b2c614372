"""Reads a report of HTML, Markdown or plain text into blocks and sentences. Start with `document.py`.

`markup`, `markdown_blocks` (with `markdown_inline`) and `text_blocks` read a format as elements of HTML, of which
`elements` makes `drafts` of blocks. `entries` finds the list of sources, `citations` what is cited, `tables` headers of
cells, and `sentences` where sentences end. The time is in proportion to the length of the report, whatever it has.
"""
