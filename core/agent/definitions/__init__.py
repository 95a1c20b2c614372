"""Prompts, sub-agents, rules and skills, read from Markdown files with front matter.

The agent, the composition root, the doctor and the list of agents import it. Start at `roster.py`, which reads all of
them for a session.
"""
