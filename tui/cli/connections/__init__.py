"""The commands about accounts and MCP servers: list and trust servers, log in to them, connect accounts.

Start with `connect.py`.
"""
