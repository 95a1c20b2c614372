"""Dates of search results as ISO 8601: English ones quickly, other languages with `dateparser`.

Imported by the rows of search results. Start with `parse.py`; `value.py` has what a date says before the
present is known, and `multilingual.py` imports the large library when it is first needed.
"""
