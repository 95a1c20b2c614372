"""Trust in a folder: its files have no effect on a session before the user has agreed to what they change.

Start with `state.py`: `FolderTrust` says what of a folder takes effect, and is part of the settings of a session.
`store.py` stores the answers of the user, also about the MCP servers of a folder. The settings and the connections use
this folder; `ua_tui.core.trust_question` says what an answer would change. It imports only what is below the settings.
"""
