"""Claims of reports: what the check of a report found, what a person decided about it, and the cited sources.

Start with `records.py`: a `Check` has `Claim`s. `ledger.py` stores beside the check what a person accepts and rejects
and what a model said (`opinion.py` asks it); `checked_report.py` brings them together. `places.py` finds
claims in a text that shows the report, `description.py` compares one with a passage, and `references.py` writes the
cited sources as CSL JSON, RIS and BibTeX. The check itself is made by `ua_tui.observers.check`; the viewer, the export
and the command line read what is here.
"""
