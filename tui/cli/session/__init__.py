"""The commands about sessions that exist: list, open and check them, export them, and run parts of them again.

Each module is a command, with `add_arguments` and `run`; `check_page.py` is the page that `check` writes. Start with
`sessions.py`.
"""
