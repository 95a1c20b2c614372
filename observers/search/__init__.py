"""Search results: recognises lists of results by their shape and makes rows of them.

Imported by `ua_tui.observers.search_results`; other observers use its text helpers. Start with `lists.py`: `walk.py`
collects the lists of a result, `verdict.py` judges them, `rows.py` makes their rows, and `dates.py` reads dates.
"""
