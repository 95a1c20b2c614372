"""The commands about what applies in a folder: settings, trust, permission rules, definitions, blacklist.

Each module is a command, with `add_arguments` and `run`; `adopt.py` is `ua-tui trust adopt`. Start with `config.py`.
"""
