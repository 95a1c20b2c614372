"""Answers queries of the knowledge base: the language of queries, what matches, its order, and passages with marks.

Start with `search`; `query` reads what was typed, and the store gives the passages, which `ranking` orders.
"""
