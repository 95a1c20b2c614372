"""The workspace: the session's files, the saved reports and other sessions as live trees, and the preview of a file.

Start at `pane.py` (the tree with its tabs and filter) and `preview.py`. `tree.py` is the widget of the tree, and draws
its rows; `folder_tree.py` knows what is in the folders, `scan.py` reads them in a thread and `watch.py` notices when to
read them again. `locations.py` lists the folders that can be shown, `file_actions.py` has the keys for the file under
the cursor, and `provenance.py` finds the call that made a file. The layout makes both panes.
"""
