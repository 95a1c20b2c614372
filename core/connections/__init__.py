"""Connects a session to MCP servers: Composio, the local toolkit, the web reader, and servers of the user.

Each module gives a `Connection` (`base.py`, the place to start): server configurations in the form the agent takes.
`user_servers.py` reads `.mcp.json` and the settings, and has the advice for what is wrong there; `trust.py` asks before
a folder's server is started. The session, the doctor, the local toolkit and the screens may import it; it imports
none of them.
"""
