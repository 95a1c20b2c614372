"""The agent and its session."""

__distribution__ = "ua-tui"
