"""Search results: recognised by their shape, made into rows, and saved."""
