"""The workspace and its preview as the frame knows them."""

from __future__ import annotations

from ua_tui.tui.panes.spec import PaneCommand, PaneSpec

PANES = (
    PaneSpec(
        name="workspace",
        title="Workspace",
        column="files",
        order=50,
        widget="ua_tui.tui.panes.workspace.pane:WorkspacePane",
        number=4,
        commands=(
            PaneCommand("find-file", "Filter the workspace by name", "find.search", "filter"),
            PaneCommand("hidden", "Show hidden files", "workspace.hidden", "toggle_hidden"),
        ),
    ),
    PaneSpec(
        name="preview",
        title="Preview",
        column="files",
        order=60,
        widget="ua_tui.tui.panes.workspace.preview:PreviewPane",
        shown_with="workspace",
        least_lines=30,
    ),
)
