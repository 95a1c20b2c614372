"""Two sessions compared: their queries, costs, pages, claims and reports.

Start with `sessions.py`, which reads both and says what they have in common; `body.py` writes it for the screen and for
the command line. The screen and the commands `compare` and `again` import this folder.
"""
