"""A research session of the demo that was recorded: `python -m tests.recording` plays and packs it."""

from __future__ import annotations

import tarfile
from pathlib import Path

SESSION = "session_20261121_140200"
PACKED = Path(__file__).with_name("recording.tar.xz")


def unpack_recording(base: Path) -> Path:
    """Put the recorded session below a folder; returns its own folder.

    Raises:
        OSError: there is no room for it.
    """
    with tarfile.open(PACKED) as packed:
        for member in packed:
            if (file := packed.extractfile(member)) is not None:
                target = base / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read())
    return base / SESSION
