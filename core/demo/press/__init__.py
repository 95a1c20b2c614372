"""The demo's invented press: the articles and their dates (`articles.py`, start here), and their web pages.

Imported only by the demo's server, its stand-in for Composio, and tests.
"""
