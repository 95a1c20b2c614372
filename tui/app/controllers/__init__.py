"""The controllers of the application, each with its own state: queries, questions, budget, failures, setup, shutdown.

A controller gets the application and the other controllers it needs as arguments, and handles events in `handle_event`,
or shows the view in `show_view` (`tui/panes/feed.py`). Only `tui/app/app.py` imports them. Start with `queries.py`.
"""
