"""The prompt: a text area with a history, completion of commands and files, and the queue above it.

`pane.py` is the widget and the place to start. `completer.py` decides what to offer, `completion.py` shows it, and
`file_index.py` finds files; `history.py` keeps what was sent. The layout makes the pane.
"""
