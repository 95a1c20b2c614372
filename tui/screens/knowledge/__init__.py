"""The screen that finds what any session found or wrote.

`find` is the screen, `hit_list` its list, `reader` asks the knowledge base in threads, and
`opening` opens the file, the call or the session of a hit. Start with `find`.
"""
