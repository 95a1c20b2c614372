"""The pages that tools read, whichever tool read them: from its result to the articles that are saved.

The observer `corpus` imports this folder. Start at `reading.py`, which takes a tool's result.
"""
