"""Saving artifacts: without duplicates and secrets, in a documented format.

Imported by the observers. Start with `saving.py`; `ledger.py` knows what the session has already, and keeps
several programs from writing at the same time; `formats.json` has the JSON Schemas of the artifacts;
`written_files.py` reads what a call wrote under `work_products/`.
"""
