"""Screens about the application itself: the command palette, the help, and the failure of the agent.

Imported by the application when one of them is opened. Start with `help.py`, which shows the keys of a place.
"""
