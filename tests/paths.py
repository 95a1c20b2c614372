"""Where the project's own files lie, whatever folder a test stands in."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).parents[1]
STYLES = PROJECT / "styles"
DOCS = PROJECT / "docs"
