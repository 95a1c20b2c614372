"""Observers: ordinary code that reads tool results and saves what is useful, without the model.

One module per observer, whose `OBSERVER` the catalogue finds: `search_results`, `corpus` (articles),
`workbench_activity`, `work_products`, `media`, `downloads`, `uploads` and `compliance`. They share `search` (rows of
search results), `decoding` (text to values), `output` (saving once, in known formats) and `execution` (running beside
the agent). Plug-ins import `ua_tui.plugins` only. Imports `core`; imported by `tui`. Start with `base.py` (what an
observer is) and `execution/runner.py` (how results reach it).
"""
