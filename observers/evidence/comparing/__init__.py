"""What sources say about the same thing: the statement around a figure, and whether two of them mean the same.

`statement` reads a sentence of a source, `wordings` has the words of four languages, and `same_thing` compares.
`ua_tui.observers.evidence.disagreements` is the only user. Start with `statement.py`.
"""
