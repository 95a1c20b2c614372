"""Writes the report of an export as an office document: DOCX or PDF, with its evidence and its references.

`blocks` reads sanitised HTML as headings, paragraphs, tables and pictures, and marks doubtful claims in them;
`document` puts the parts together and writes the file in a worker process: `docx_writer.py` as DOCX, `document.typ` as
PDF. Only `export.formats` imports it. Start with `document.py`.
"""
