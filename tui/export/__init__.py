"""Writes a session to one file to share: the report with its evidence, the conversation, the trace and the sources.

`formats.read_export` gathers everything into the records of `records`, redacted; `page` writes them as HTML by
`page.html.jinja`, with `prose` for the report and `evidence` for its check; `markdown` as Markdown by
`session.md.jinja`; and `formats` writes JSON and references, and the file. Screens and commands import this package; it
imports no part of the screen. Start with `formats.py`.
"""
