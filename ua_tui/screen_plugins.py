"""The interface for packages with viewers or panes; its names are stable across versions.

`docs/plugins.md` describes how such a package is written and installed.
"""

from __future__ import annotations

from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.panes.spec import PaneSpec
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer

__all__ = ["Declined", "PaneSpec", "Sample", "SessionView", "TextBody", "View", "Viewer", "clean_line"]
