"""Adds a house rule and an observer of percentages to ua-tui."""
