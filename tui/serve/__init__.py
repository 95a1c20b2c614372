"""The full screen in a browser: each tab gets a session of its own, in a process of its own."""
