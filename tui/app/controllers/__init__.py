"""What the application does with events and commands: queries, questions, budget, failures, setup, shutdown.

What has a state is a controller: it gets the application, which has the others, and handles events in `handle_event`,
or shows the view in `show_view` (`tui/panes/feed.py`). The rest are functions. Only `app.py`
and `commands.py` in `tui/app` import them. Start with `queries.py`.
"""
