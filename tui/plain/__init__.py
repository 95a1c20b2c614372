"""A session without a full screen: line by line, without overwriting and without escape sequences.

`session.py` reads queries and answers from standard input, `one_query.py` runs a single query, and `narrator.py`
writes what happens. Only `ua_tui.tui.cli` imports this folder. Start with `session.py`.
"""
