"""Finished lines between the borders of a widget, as Textual's styles cache puts them there, and not styled again."""

from __future__ import annotations

from collections.abc import Callable

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


def framed_lines(
    widget: Widget,
    crop: Region,
    line: Callable[[int], Strip],
    cells: int,
    styled: Callable[[Region], list[Strip]],
) -> list[Strip]:
    """Render the lines of a widget in `crop`.

    Textual builds each line anew: it looks up every style, and filters what was filtered when the line stood one row
    lower. Here one line is `styled` by Textual, and gives its edges to the others.

    Args:
        widget: its borders, padding and filters are those of every line.
        crop: the part of the widget to render.
        line: gives a line of the content, with its styles and without borders.
        cells: how long lines are; one of another length is left to Textual.
        styled: renders a part of the widget as Textual does.
    """
    gutter, width = widget.styles.gutter, widget.region.width
    first = max(crop.y, gutter.top)
    last = min(crop.bottom, gutter.top + widget.content_region.height)
    if last - first < 2 or not _is_plain(widget) or crop.column_span != (0, width):
        return styled(crop)
    example = styled(Region(0, first, width, 1))[0]
    left, right = example.crop(0, gutter.left)._segments, example.crop(gutter.left + cells, width)._segments
    background = widget.background_colors[1]
    filters = widget.get_line_filters()
    lines = styled(Region(0, crop.y, width, first - crop.y)) if crop.y < first else []
    lines.append(example)
    for y in range(first + 1, last):
        strip = line(y - gutter.top)
        if strip.cell_length != cells:
            lines += styled(Region(0, y, width, 1))
            continue
        for each in filters:
            strip = strip.apply_filter(each, background)
        lines.append(Strip([*left, *strip._segments, *right], width))
    if last < crop.bottom:
        lines += styled(Region(0, last, width, crop.bottom - last))
    return lines


def _is_plain(widget: Widget) -> bool:
    """Whether a line shows its content as it is."""
    styles = widget.styles
    return (
        widget.opacity == 1.0
        and styles.text_opacity == 1.0
        and not styles.tint.a
        and not styles.has_rule("hatch")
        and not any(kind for kind, _ in styles.outline)
        and not widget.hover_style._link_id
    )
