"""Which tool calls run, which are refused, and which ask a person.

The agent and the permission dialogs import it. Start at `policy.py`; `gate.py` is where a call waits for its answer.
"""
