"""Compares the figures, quotations and links of a report with the texts that were read for it; no model is asked.

`check.check_document` is the whole interface: it takes a parsed report and its sources, and returns a `records.Check`,
without files or network. `reading` turns documents into blocks, `sources` cuts sources into passages and indexes them,
`figures/` reads figures (units and words are data files there), and `figure_claims`, `quotation_claims` and
`link_claims` compare. The observer of reports and the command line use it; it imports nothing from the screen.
"""
