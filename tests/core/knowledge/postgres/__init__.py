"""Tests of `ua_tui.core.knowledge.postgres` on a real server."""
