"""The agent of a session: one connection to the Claude Code CLI, and everything that reaches into it.

The session, its history and the doctor import it; it imports no screen. Start at `loop.py`, which drives one connected
agent, `assembly.py`, which makes the loops of a session, and `query.py`, the path of one query.
"""
