"""Reads figures in texts: number, scale, unit, rate, sign and what is counted, as one thing.

`find.find_figures` is the entry and `figure.Figure` its result. What is written how is data: `units.toml` for units
and currencies, `words.<language>.toml` for the words of a language, which `vocabulary` loads.
"""
