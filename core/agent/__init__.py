"""The agent: the SDK connection, its messages, hooks, permissions and paths."""
