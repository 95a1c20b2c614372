"""The commands of the knowledge base: `ua-tui find` asks it, and `ua-tui knowledge` shows, updates and forgets.

Only the table of commands imports them.
"""
