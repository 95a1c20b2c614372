"""Style sheets and themes of the full-screen app."""
