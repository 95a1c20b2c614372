"""The commands about what applies in a folder: settings, trust, permission rules, definitions, blacklist.

Each module is a command. Start with `config.py`.
"""
