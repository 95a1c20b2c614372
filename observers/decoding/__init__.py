"""Reading what tools return: JSON in text, Python literals, truncated documents, and URLs.

Imported by the observers and their output. Start with `decode.py`; `truncated_json.py` repairs a document
that was cut off, and `urls.py` compares addresses.
"""
