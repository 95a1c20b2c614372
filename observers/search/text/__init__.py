"""Search results written as text, a module for each format.

Used by `observers.search.detect`; start at `sections.py`.
"""
