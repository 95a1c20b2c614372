"""Dates of search results as ISO 8601: English ones quickly, other languages with `dateparser`.

Imported by the rows of search results. Start with `parse.py`; `multilingual.py` puts other languages into English,
with a large library that it imports when it is first needed.
"""
