"""What a copy of a session consists of: journal lines, transcripts, files, and the row that shows its state.

`ua_tui.core.team.replica` copies them from a session's folder to PostgreSQL as they come, `ua_tui.core.team.restore`
makes a folder of them again; both import this folder. Start with `rows.py`, which has the statements.
"""
