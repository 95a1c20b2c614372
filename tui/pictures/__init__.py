"""Pictures by the graphics of terminals: which there are, how they are written, and which are shown."""
