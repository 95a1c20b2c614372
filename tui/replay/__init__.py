"""Past and resumed sessions on the full screen, read from their journals.

`past_source.py` and `resumed_source.py` are session sources for the application of `tui.app`. They load the journal
into panes that can be filled from their beginning while they show the end (`loader.py`, `panes.py`). Only `tui.cli`
imports this folder. Start with `past_source.py`.
"""
