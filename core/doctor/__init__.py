"""The doctor: tries what a session needs, each with one small request, and says what to do where it fails."""
