"""Articles and search results in readable form: an article as a page, lists of articles and of results as tables.

Viewers of files and of tool calls, and the screens that open an article, import this folder; it imports the bodies.
Start with `results.py`, the table; `page.py` is the page that a row opens, and finds the file of an article.
"""
