"""Everything that keeps a record of a session: journal, log, trace, transcript and summary.

`recorder.py` subscribes all records to the bus and is the place to start. `formats.py` writes trace.json, transcript.md
and summary.txt from the session's view, and keeps them up to date. `journal.py` writes the journal, and
`journal_reader.py` is the one that reads it. Sessions, the history and the screen may import this folder; it imports
telemetry and what lies below.
"""
