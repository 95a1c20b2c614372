"""What is computed from a session's events."""
