"""Reads the folder of a session: what its journal says, its artifacts, the results of its tools, and its files.

`ua_tui.observers.evidence.session_sources` puts together what these modules find. What the agent itself wrote is left
out everywhere: `journal` says which files that are. Start with `journal.py`.
"""
