"""A report with the claims of its check: where they are in the rows, their signs, and the panel of one claim.

Used by the viewer of files and the export. Start with `view.py`.
"""
