"""Past sessions: found, listed, searched and read from their journals.

Start with `session.py`: a past session with the interface of a running one. `event_replay.py` prepares the events of
its journal for display, and adds them up. `lookup.py` finds a session by name, `index.py` lists all of them,
with a `headline.py` each. `recording.py` has every moment of a session for a replay, `past_files.py` its files at that
moment. `rebuild.py` writes the derived files of a session again. The screen, the commands and the composition root
import this folder.
"""
