"""The files that the demo's remote sandbox holds, as its scripts would have made them."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO

__all__ = ["sandbox_files"]

_MONTHS = {"2026-07": 412_300, "2026-08": 398_750, "2026-09": 455_100, "2026-10": 487_920}
_NAMES = ("July", "August", "September", "October")
_DAYS = 28
_SIZE = (640, 400)
_INK, _PAPER, _BAR, _GRID = "#1f2430", "#ffffff", "#3b6ea5", "#d9dde3"


def sandbox_files() -> Mapping[str, bytes]:
    """Make them: a table of revenue, and the chart that is drawn of it."""
    return {"revenue.csv": _table(), "outputs/monthly_revenue.png": _chart()}


def _table() -> bytes:
    lines = ["date,revenue"]
    for month, total in _MONTHS.items():
        each, rest = divmod(total, _DAYS)
        lines += [f"{month}-{day:02},{each + (rest if day == 1 else 0)}" for day in range(1, _DAYS + 1)]
    return ("\n".join(lines) + "\n").encode()


def _chart() -> bytes:
    from PIL import Image, ImageDraw, ImageFont

    width, height = _SIZE
    picture = Image.new("RGB", _SIZE, _PAPER)
    draw, font, small = ImageDraw.Draw(picture), ImageFont.load_default(20), ImageFont.load_default(14)
    draw.text((width / 2, 24), "Revenue by month", _INK, font, anchor="mm")
    top, bottom, left = 60, height - 50, 80
    scale = (bottom - top) / 500_000
    for value in range(0, 500_001, 100_000):
        y = bottom - value * scale
        draw.line((left, y, width - 20, y), _GRID)
        draw.text((left - 10, y), f"{value // 1000} k", _INK, small, anchor="rm")
    step = (width - 20 - left) / len(_NAMES)
    for number, (name, total) in enumerate(zip(_NAMES, _MONTHS.values(), strict=True)):
        middle = left + step * (number + 0.5)
        draw.rectangle((middle - 40, bottom - total * scale, middle + 40, bottom), _BAR)
        draw.text((middle, bottom - total * scale - 12), f"{total:,}", _INK, small, anchor="mm")
        draw.text((middle, bottom + 20), name, _INK, small, anchor="mm")
    data = BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
