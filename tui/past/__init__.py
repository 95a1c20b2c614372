"""A past session on the full screen: read from its journal, shown whole, never changed."""
