"""Screens about what the session works with: connections, sub-agents, permission rules, the blacklist.

Imported when their commands run. Start with `connections.py`.
"""
