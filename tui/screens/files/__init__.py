"""Screens about files and links: the viewer, the list of a call's files, the confirmation of a deletion, and links.

Imported by the frame, the application and other screens. `document.py` is the base of screens that show one document;
start with `viewer.py`, which is built on it.
"""
