"""Files that a person adds to a query or names in it: texts, pictures and PDF files go to the model with the query.

A query names its files in its text, as `@attachments/photo.png`; so everything that keeps the text keeps the files,
too. Start with `blocks.py`, which makes content blocks from them. `mentions.py` finds the names in a text, `places.py`
says where they lead and copies a file from elsewhere into the session's folder, and `media.py` checks and scales files
in a worker process. The agent, the session and the prompt import this folder.
"""
