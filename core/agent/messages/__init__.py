"""From the messages of the Agent SDK to events, tool results and token counts.

The agent imports it. Start at `translate.py` for messages and at `results.py` for tool results.
"""
