"""The offline demo: scripted servers on loopback."""
