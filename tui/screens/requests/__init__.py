"""Dialogs in which the agent waits for a person: a permission, an account to connect, a server to trust.

Imported by the application, which opens them for events. `arguments.py` makes untrusted text visible and
`text_answer.py` asks for a line; other dialogs use both. Start with `permission.py`.
"""
