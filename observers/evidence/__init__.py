"""Checks a report against what its session read: links, quotations, figures and names, without a model.

`reading` reads a document into sentences, `session_sources` and `session` read what the session has read, `earlier`
what others have, and `figures` reads numbers. Each of `links`, `quotations`, `figure_claims` and `names` gives the
claims of its kind. Start with `check.py`.
"""
