"""Fills the knowledge base from the journals and artifacts of sessions.

`journal` reads what is new in a session's journal, and `documents` turns events and files into documents. The store
(`core.knowledge.store`) is given both. Start with `journal.py`. The session, the screen and the command line import it.
"""
