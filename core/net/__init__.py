"""Fetches public web pages safely: which addresses are allowed, how pages are read, what robots.txt permits.

Start with `client.py`. `dialer.py` opens every connection and checks the address that a name resolves to; `bodies.py`
decompresses and decodes, and says what is not read; `retries.py` repeats requests.

Imports nothing above `ua_tui.core.events`; the local toolkit, the demo's routes and the connection to Composio use it.
"""
