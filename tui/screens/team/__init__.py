"""The fleet: all sessions of this machine and of a team on one screen.

Begin with `fleet.py`; `fleet_list.py` draws the rows.
"""
