"""The doctor: checks whether this machine, the model, the services and the servers of a session work.

Start with `checks.py`, which runs all checks; each gives a `Finding` (`findings.py`). `machine.py`, `services.py` and
`team.py` have the checks themselves, with remedies from the catalogue of advice. Only the command line and the screens
import this package; `child.py` runs it in a child process, whose slow imports delay nothing.
"""
