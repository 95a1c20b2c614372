"""The conversation as the agent stores it: its own files, and the copy in the session's folder.

The command-line agent stores a conversation in its own folder, under the name of the session's folder. `store.py`
copies what it writes into the session's folder and gives it back to the agent when the session was moved: start there.
`transcripts.py` finds and reads the agent's own files. The agent and the session import this folder, and the copies of
a team; it imports storage and redaction.
"""
