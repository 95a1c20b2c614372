"""Reads the figures in a text, as people write them in English, German, French and Spanish.

`figure` has the type, `language` what words say about figures, and `find` finds all figures of a text. Start with
`find.py`.
"""
