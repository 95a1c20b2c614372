"""Tests of `ua_tui.core.storage`."""
