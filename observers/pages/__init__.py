"""Turns the result of any tool that reads pages into the articles to save.

The observer `corpus` imports this folder. Start at `reading.py`, which takes a tool's result.
"""
