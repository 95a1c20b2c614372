"""The observer of search results: recognises lists of results by their shape, makes rows of them and saves them.

Imported by `observers.catalogue`; other observers use its text helpers. Start with `observer.py`; `detect.py` finds the
lists in a result, `rows.py` makes their rows, and `dates/` reads dates.
"""
