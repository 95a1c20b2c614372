"""What a session is, folded from its events: its queries, the tree of its calls, costs, activity and files.

Begin with `session.py`: `fold` makes the view of a journal, `SessionView.then` continues one. `costs.py`, `activity.py`
and `setup.py` are its parts; each is an immutable fold that can be used alone. Every package of `core` above it in the
layers, `observers` and `tui` may import it.
"""
