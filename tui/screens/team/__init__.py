"""The fleet: all sessions of this machine and of a team on one screen.

Begin with `fleet.py`; `lists.py` has the columns of sessions, batches and workers.
"""
