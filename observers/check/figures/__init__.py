"""Reads figures in texts: number, scale, unit, rate, sign and what is counted, as one thing.

`find.find_figures` is the entry and `figure.Figure` its result. How each of them is written is data: `units.toml` for
units and currencies, `words.<language>.toml` for the words of a language, which `vocabulary` loads.
"""
