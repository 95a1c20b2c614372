"""Search results written as text; used by `ua_tui.observers.search.lists`. Start at `blocks.py`."""
