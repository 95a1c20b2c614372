"""A checked report with its claims: where they are in the rows, their signs, and the evidence for each.

`origin` finds the check of a file, `words` and `alignment` find its claims in rendered rows, `marks` shows signs
beside or in the text, `view` goes from claim to claim, `passages` has what the panel says of one. Screens and panes
import this folder; it imports the bodies. Start with `marks.py`.
"""
