"""Finds the quotations of a report and compares them with the texts of sources.

`finding` gives the quotations, `folding` reads a text as words that compare equal however they are set, `matching`
finds a quotation word for word, `alterations` finds the passage that it was changed from, `language` tells texts in
different languages apart. Start with `observers/evidence/quotations.py`.
"""
