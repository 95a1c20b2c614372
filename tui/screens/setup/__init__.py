"""The setup dialog: choose a connection method, enter a key or an address, test it, store it.

Imported by the application when there is no model yet, or when `/setup` runs. Start with `screen.py`, which moves
between the pages of `pages.py`; `ua_tui.core.provider.setup` checks and stores the input.
"""
