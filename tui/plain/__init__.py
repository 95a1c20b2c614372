"""A session without a full screen: line by line, nothing written over, no escape sequences."""
