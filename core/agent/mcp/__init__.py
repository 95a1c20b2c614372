"""The MCP servers of the agent: their states, their errors, and connecting them again.

The agent and the session import it. Start at `servers.py`, the port for everything that a person may do about them.
"""
