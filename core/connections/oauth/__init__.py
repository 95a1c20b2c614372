"""Logins (OAuth) for the user's own MCP servers over HTTP: found, made in a browser, stored and renewed.

`flow.py` logs in and renews with the client of the `mcp` package: start there. `target.py` says what a login is for,
and `store.py` keeps it, in the system's keyring or in a file. `redirect.py` receives the browser's answer.
`headers.py` gives the header with the token to the agent. The connections, the doctor,
the command line and the screen import this folder.
"""
