"""To be described: what this folder is, who may import it, where to begin."""
