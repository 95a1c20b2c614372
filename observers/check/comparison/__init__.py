"""Compares the figures of a sentence with those of its sources: the same value, another one, or one that follows.

Start with `matching`.
"""
