"""The bounds of what the agent reads, shows and waits for: one for each kind of thing."""

from __future__ import annotations

LONGEST_NAME = 200
"""Characters of a name, a title or another text on one line."""
LONGEST_TEXT = 4_000
"""Characters of a text of others that is shown, or that the model reads beside a result."""
LONGEST_PROMPT = 100_000
"""Characters of a text that is sent to the model: a prompt, a file, a schema."""
MOST_ENTRIES = 1_000
"""Entries of a list that somebody else makes."""
MOST_PARTS = 50
"""Parts of something that a person reads or the model is sent: fields, messages, rules."""
LARGEST_FILE = 64 << 20
"""Bytes of a file that is copied or read as a whole."""
LARGE_TEXT = 256 << 10
"""Characters from which on a text is read and written in the worker process."""
PIECE = 64 << 10
"""Bytes or characters that are read at once."""
DEEPEST = 64
"""Levels of nested values that are looked at."""
STEP_SECONDS = 5.0
"""The patience for a step on this machine that takes milliseconds."""
REPLY_SECONDS = 15.0
"""The patience for a reply of the agent's process."""
START_SECONDS = 45.0
"""The patience for the start of a program."""
