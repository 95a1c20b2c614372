"""The web reader, a service that reads single pages: its errors, the retry policy, and the blacklist of sites.

Start with `errors.py`, which recognises an error and has the advice for it. `retry_policy.py` takes part in a session's
pipelines, and `blacklist.py` is shared by sessions, the local toolkit, the observers, the command line and the screens.
"""
