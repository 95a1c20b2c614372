"""The commands of a team: its database (`manage.py`), and the address that all of them take (`address.py`).

Everything that they need is imported when they run. Start with `manage.py`.
"""
