"""The name of the knowledge base's file."""

FILE = "knowledge.db"
"""The usual name of the file, which is in the folder of the sessions."""
