"""The demo's model: a Messages API (`server.py`, start here) whose answers come from a script.

`conversation.py` reads a request, and `script.py` chooses the answer. Imported only by the demo's server and tests.
"""
