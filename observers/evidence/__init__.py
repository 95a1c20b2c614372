"""Checks a report against what its session read: links, quotations, figures and names, without a model.

`report` reads a document into sentences, `sources` reads what the session has, `figures` reads numbers. Each of
`links`, `quotations`, `figure_claims` and `names` gives the claims of its kind. Start with `check.py`.
"""
