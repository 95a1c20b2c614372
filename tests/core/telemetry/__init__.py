"""Tests of `ua_tui.core.telemetry`."""

from __future__ import annotations

import json
from pathlib import Path

from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import Event


def recorded(name: str, **texts: str) -> list[Event]:
    """The events of a recorded session, with texts in the place of words in capitals."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8")
    for word, text in texts.items():
        lines = lines.replace(word, json.dumps(text)[1:-1])
    return [decode_event(line) for line in lines.splitlines()]
