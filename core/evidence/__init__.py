"""The result of checking a report against what its session read: its records, its file and its wording.

`records` has the types, `files` reads and writes them in `report_checks/`. The check itself is in
`observers/evidence`; the viewers, the export and the command line read its results from here.
"""
