"""The agent and its session."""
