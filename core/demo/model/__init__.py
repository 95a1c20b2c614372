"""The demo's model: a Messages API (`server.py`, start here) whose answers come from a script.

`script.py` reads a request and chooses the answer. Imported only by the demo's server and tests.
"""
