"""The screen that finds what any session found or wrote.

`find` is the screen, `hit_list` its list, and `reader` asks the knowledge base in threads. Start with `find`.
"""
