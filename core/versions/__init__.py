"""The kept versions of a session's files: what each file was when a query began, and when it ended.

The session keeps them, and going back to a query, forks, replay and the comparison of files read them. Start at
`store.py`. Anything above storage and below the view may import this folder; it imports only storage.
"""
