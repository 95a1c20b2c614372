"""Past and resumed sessions on the full screen, read from their journals.

`past_source.py` and `resumed_source.py` are session sources for the application of `ua_tui.tui.app`. They load the
journal into its panes (`loader.py`). Only `ua_tui.tui.cli` imports this
folder. Start with `past_source.py`.
"""
