"""The commands of a team: its database (`manage.py`), its jobs and the sessions of the fleet.

Everything that they need is imported when they run. Start with `manage.py`.
"""
