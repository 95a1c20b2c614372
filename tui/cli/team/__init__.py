"""The commands of a team: its database (`manage.py`), its jobs and the sessions of the fleet.

They are loaded, with everything that they need, when the command runs. Start with `manage.py`.
"""
