"""Reads a report of HTML, Markdown or plain text into blocks and sentences. Start with `document.py`."""
