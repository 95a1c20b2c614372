"""The file of the knowledge base: its tables, how it is opened, and how documents are prepared and stored.

Start with `store`; `database` opens the file and `schema` has its tables. `search` reads what is written here.
"""
