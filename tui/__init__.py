"""The full-screen app, the command line and the composition root."""
