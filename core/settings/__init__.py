"""The settings of a session: what they are, where they come from, and how they are checked, shown and stored.

Start with `model.py`: each field of `Settings` describes one setting completely, and docs/configuration.md is
generated from it. `layers.py` reads the places, `parsers.py` the values, `saving.py` changes the settings files,
and `describe.py` lists the settings for `ua-tui config`. Any folder above may import this one.
"""
