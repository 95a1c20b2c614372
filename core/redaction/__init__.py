"""Removes secrets from everything that is stored or shown: known values, and whatever looks like a secret.

Start with `redactor.py`. `detectors.py` searches a text: `formats.json` has the keys of services; `names.py` with
`names.json` tells which names stand for secrets, `assignments.py` finds their values in every syntax, and `values.py`
tells these from placeholders, code and prose. `arguments.py` masks the secrets in commands and addresses. Any folder
above may import this one.
"""
