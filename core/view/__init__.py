"""What a session is, folded from its events: its queries, the tree of its calls, costs, activity and files.

Begin with `session.py`: `fold` makes the view of a journal, `SessionView.then` continues one. `costs.py`, `activity.py`
and `setup.py` are its parts, each an immutable fold of its own for those who need no more. Everything but the events
and what masks secrets may import it.
"""
