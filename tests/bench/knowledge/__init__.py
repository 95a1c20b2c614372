"""Measures the knowledge base: its speed over many passages, and whether it finds things.

`prose` writes seeded texts, `corpus` puts many of them into a file, `sessions` lays session folders with facts, and
`questions` asks for them. Begin with `section`.
"""
