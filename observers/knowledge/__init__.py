"""Fills the knowledge base from the journals and artifacts of sessions.

`journal` reads what is new in a session's journal, and `documents` turns events and files into documents. `catch_up`
passes both to the store (`ua_tui.core.knowledge.index.store`), session by session and in pieces, and `feed` does so
while a session runs. Start with `catch_up.py`, and with `journal.py` for what is indexed. `figures` lists the figures
near words for `ua-tui find`. The session, the screen and the command line import it.
"""
