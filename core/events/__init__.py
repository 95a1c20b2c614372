"""The events of a session: their types, their JSON, their description in words, and messages to the agent.

Start with `types.py`, then `describe.py`, with the sentences in `sentences.json`. `codec.py` turns events into lines of
the journal and back; `tool_names.py` and `units.py` write names and quantities for people. Everything may import
this folder; it imports only `ua_tui.core.text`, `ua_tui.core.json_values` and `ua_tui.core.observation`.
"""
