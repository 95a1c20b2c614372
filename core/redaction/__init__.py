"""Removes secrets from everything that is stored or shown: known values, and whatever looks like a secret.

Start with `redactor.py`. `detectors.py` searches a text: `formats.json` has the keys of services; `values.py` with
`names.json` decides which names stand for secrets, and tells their values from placeholders, code and prose;
`assignments.py` finds these in every syntax. `arguments.py` masks the secrets in commands and addresses. Any folder
above may import this one.
"""
