"""The demo's stand-in for Composio: its REST API and MCP server (`server.py`, start here) and remote tools.

`services.py` runs the tools and keeps connected accounts, and `tools.py` describes the tools. Imported only by
the demo's server, tests, and the list of sub-agents (`tools.py`).
"""
