"""Past, resumed and replayed sessions on the full screen, read from their journals.

`past_source.py`, `resumed_source.py` and `replay_source.py` are session sources for the application of
`ua_tui.tui.app`. They load the journal into its panes (`loader.py`), or play it (`player.py`, `time_line.py`). Only
`ua_tui.tui.cli` imports this folder. Start with `past_source.py`.
"""
