"""Search results written as text, a module for each format.

Used by `ua_tui.observers.search.detect`; start at `sections.py`.
"""
