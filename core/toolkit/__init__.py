"""The local toolkit: an MCP server in a child process with tools for pages, files and the remote sandbox.

Start with `server.py`, which names the tools; `crawl.py`, `corpus.py`, `files.py` and `workbench.py` implement them
with the context that `calls.py` has. `core/connections/toolkit.json` lists them, and `python -m tests.docs` writes into
it what their functions say. It runs as `python -I -m ua_tui.core.toolkit`; the session only starts it, and the
observers import the format of its articles.
"""
