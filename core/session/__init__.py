"""A session: the object that a front end holds, with its queue, spending limit and resumption.

The public API and the composition root import it, and front ends through them. Start at `session.py`; `parts.py` lists
what a session is made of.
"""
