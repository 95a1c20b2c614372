"""The conversation: queries, answers, folded thinking, and the messages of the app.

Start at `pane.py`, the widget. `dialogue.py` turns events into blocks, with `stream.py` for a message that is being
written and `folds.py` for text that is folded to a line; `notices.py` chooses the app's own messages. `blocks.py` says
what blocks there are and draws them, `page.py` puts them into the list; `search.py` and `copy.py` implement the keys.
The layout makes the pane.
"""
