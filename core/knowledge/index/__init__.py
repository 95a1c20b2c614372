"""The file of the knowledge base: its tables, how it is opened, and how documents are cut and stored.

Start with `store`; `database` has the tables and opens the file. `search` reads what is written here.
"""
