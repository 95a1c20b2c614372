"""Removes documents from the knowledge base, and remembers what was forgotten so that it does not come back.

Start with `forgetting`; `forgotten` is the list of what stays away, and `selection` chooses the documents.
"""
