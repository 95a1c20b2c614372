"""The commands about sessions that exist: list, open and check them, export them, and run parts of them again.

Each module is a command; `past.py` is `ua-tui open` and `ua-tui replay`. Start with `sessions.py`.
"""
