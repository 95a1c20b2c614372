"""The commands of the knowledge base: `ua-tui find` and `ua-tui knowledge`.

`find` asks it. `maintenance` shows its state, updates and rebuilds it, and forgets. `place` says which file and which
session an option names. Only the table of commands imports them.
"""
