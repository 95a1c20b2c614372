"""Fills the knowledge base from the journals and artifacts of sessions.

`journal` reads what is new in a session's journal, and `documents` turns events and files into documents. The store
(`ua_tui.core.knowledge.index.store`) is given both by `catch_up`, session by session and in pieces. `feed` does that
while a session runs. Start with `catch_up.py`, and with `journal.py` for what is indexed; what a title is, is in
`cleaning.py`. `figures` lists the figures near words for `ua-tui find`. The session, the screen and the command line
import it.
"""
