"""One module for each file format, each with a `VIEWER`; a module that is added here is found by the registry.

Only `ua_tui.tui.viewers.registry` imports these modules, when the first file is shown; slow libraries are imported
inside the functions that use them. Start with `csv.py`.
"""
