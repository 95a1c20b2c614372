"""The themes and how they are applied: colours, contrast, 256-colour terminals, the cached stylesheet.

Any part of `tui` may import it; it imports only `core`. Start with `themes.py`.
"""
