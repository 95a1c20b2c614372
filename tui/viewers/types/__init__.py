"""One module for each kind of file, each with one `Viewer` or several, which the registry finds.

Only `ua_tui.tui.viewers.registry` imports these modules, when the first file is shown; slow libraries are imported
inside the functions that use them. Start with `csv.py`.
"""
