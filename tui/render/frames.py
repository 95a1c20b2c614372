"""Frames that render only what changed: of the widgets that a changed region touches, the lines that it touches."""

from __future__ import annotations

from collections.abc import Iterator

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip

__all__ = ["render_only_changes"]

_render_partial_update, _get_renders = Compositor.render_partial_update, Compositor._get_renders
_changed: list[Region] = []
"""The regions of the frame that is being rendered; empty for a frame of the full screen."""


def render_only_changes() -> None:
    """Change two methods of Textual's compositor, which asks every widget for all its lines if two far regions changed.

    A second call changes nothing.
    """
    Compositor.render_partial_update = _partial_update  # type: ignore[method-assign, assignment]
    Compositor._get_renders = _renders  # type: ignore[method-assign, assignment]


def _partial_update(compositor: Compositor) -> ChopsUpdate | None:
    _changed[:] = compositor._dirty_regions
    try:
        return _render_partial_update(compositor)
    finally:
        _changed.clear()


def _renders(
    compositor: Compositor, crop: Region | None = None
) -> Iterator[tuple[Region, Region, list[Strip]]]:
    if not _changed:
        yield from _get_renders(compositor, crop)
        return
    for widget, (region, clip) in compositor.visible_widgets.items():
        seen = region.intersection(clip)
        touched = [seen.intersection(each) for each in _changed if seen.overlaps(each)]
        if touched:
            top, bottom = min(each.y for each in touched), max(each.bottom for each in touched)
            seen = Region(seen.x, top, seen.width, bottom - top)
            yield region, seen, widget.render_lines(seen.translate(-region.offset))
