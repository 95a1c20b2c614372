"""Turns a fetched page of any kind into an article: web pages, feeds, PDF files, JSON and plain text.

Start with `reading.py`, which chooses by the type of a page. `web_page.py`, `feed.py` and `pdf.py` read one kind each,
in a worker process. Only the crawler imports this folder, except that the viewer of PDF files imports `pdf.py`.
"""
