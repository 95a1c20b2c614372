"""Files of a session: safe names and paths, atomic writes, compression, files that only grow, and the workspace.

Start with `workspace.py`, the folder of one session; it is built on `files.py`, which never leaves its root folder
and follows no links. `paths.py` decides what a file may be called, `large_results.py` stores what is
too large for the journal, `queue_file.py` the queries that wait. Any folder above may import this one.
"""
