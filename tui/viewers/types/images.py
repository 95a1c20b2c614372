"""Pictures with their format, width and height."""

from __future__ import annotations

from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.picture import PictureBody, read_header
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer
from ua_tui.tui.viewers.document import Body


def _view(sample: Sample) -> View:
    header = read_header(sample.data)
    if header is None:
        raise Declined
    data = sample.data if sample.complete else None
    if data is None and sample.piece.packed is not None:
        body: Body = TextBody(header.description)
    else:
        body = PictureBody(header, data, sample.path)
    raw = HexBody(sample.data, sample.piece.offset)
    return View(header.kind, raw, body, (header.size_text,), all_rendered=True)


VIEWER = Viewer("image", lambda sample: read_header(sample.data) is not None, _view, priority=100)
