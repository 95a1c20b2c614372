"""The demo: a scripted model, a stand-in for Composio and invented article pages, on loopback in a child process.

Start with `server.py`, which puts the three together. `model.py` plays the playbooks, which are data in `playbooks/`
and read by `playbook.py`; `composio/` imitates the tool router; `press.py` serves the articles. The composition root,
the doctor and the tests import `launch.py`, which starts the child process `python -m ua_tui.core.demo`; the rest runs
only there.
"""
