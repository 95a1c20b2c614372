"""Pictures; audio and video, which other programs play."""

from __future__ import annotations

from ua_tui.core.media_types import HEAD_SIZE, media_suffix, media_type
from ua_tui.tui.viewers.bodies.hex import HexBody
from ua_tui.tui.viewers.bodies.picture import PictureBody, read_header
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer
from ua_tui.tui.viewers.document import Body


def _view_image(sample: Sample) -> View:
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


IMAGE = Viewer("image", lambda sample: read_header(sample.data) is not None, _view_image, priority=100)


def _view_media(sample: Sample) -> View:
    kind = f"{media_suffix(sample.data[:HEAD_SIZE]).removeprefix('.').upper()} {_kind(sample)}"
    body = TextBody(f"{kind}\n\nPress o to open it in another program.")
    return View(kind, HexBody(sample.data, sample.piece.offset), body, all_rendered=True)


def _kind(sample: Sample) -> str | None:
    return media_type(sample.data[:HEAD_SIZE])


MEDIA = Viewer(
    "audio or video",
    lambda sample: sample.binary and sample.piece.packed is None and _kind(sample) in ("audio", "video"),
    _view_media,
    priority=100,
)
