"""Traces the figures of a report to the sources.

`words` compares what is around two figures, `index` finds places of sources by value, `rounding` and `dates` say
whether two figures are the same, `places` chooses the best place, `derived` recomputes figures from others,
`plausible` says which may follow from others without proof, and `computed` reads whether the report says so.
Nothing here knows verdicts: `observers/evidence/figure_claims.py` decides. Start with `places.py`.
"""
