"""The deterministic layer: what is saved from every tool result."""
