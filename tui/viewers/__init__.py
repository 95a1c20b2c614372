"""One viewer a file type, chosen by a registry."""
