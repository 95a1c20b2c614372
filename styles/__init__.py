"""Style sheets and themes of the full-screen app."""

__distribution__ = "ua-tui"
