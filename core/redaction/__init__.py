"""Removes secrets from everything that is stored or shown: known values, and whatever looks like a secret.

Start with `redactor.py`. `detectors.py` has the patterns of keys, tokens and passwords, `names.py` tells which
names stand for secrets, and `arguments.py` masks the secrets in commands and addresses. Any folder above may import
this one.
"""
