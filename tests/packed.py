"""Packs and unpacks bytes as the program does."""

from __future__ import annotations

import io

from ua_tui.core.storage.compression import LARGEST, Unpacked, pack_pieces


def pack(data: bytes) -> bytes:
    """Compress bytes."""
    return b"".join(pack_pieces((data,), len(data)))


def unpack(data: bytes, limit: int = LARGEST) -> bytes:
    """Restore compressed data, at most `limit` bytes."""
    return Unpacked(io.BytesIO(data), largest=limit).read(limit + 1)
