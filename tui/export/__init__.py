"""Writes one file of a session to hand on: the report with its evidence, the conversation, the trace and the sources.

`formats.read_export` gathers everything into the records of `records`, redacted; `page` writes them as HTML by
`page.html.jinja`, with `prose` for the report and `evidence` for its check; `markdown` as Markdown by
`session.md.jinja`; and `formats` as JSON, as references or to a file. Screens and commands import this package; it
imports no part of the screen. Start with `formats.py`.
"""
