"""Compresses large texts with zstd, and unpacks untrusted data safely.

The data may be cut short, damaged, or made to unpack without end; it is unpacked piece by piece and never further than
requested.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from ua_tui.core.errors import WorkspaceError

SUFFIX = ".zst"
SUFFIXES = (SUFFIX, ".gz")
LIMIT = 1 << 20
LARGEST = 256 << 20
_LEVEL = 3
# A block of zstd makes at most 128 KiB of 4 bytes: of so many bytes come at most 16 MiB at a time.
_FED = 512
_GZIP_PIECE = 1 << 20
_ADVICE = "get the file again or restore it from a copy"


def inner_name(name: str) -> str:
    """The name or path of the content of a compressed file: without `.zst` or `.gz`; other names are unchanged."""
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix) and not name[: -len(suffix)].endswith("/"):
            return name[: -len(suffix)] or name
    return name


def pack_pieces(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Compress pieces of `size` bytes together as one zstd frame with its size and a checksum, one by one."""
    import zstandard

    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True, write_content_size=True)
    frame = compressor.compressobj(size=size)
    for piece in pieces:
        yield frame.compress(piece)
    yield frame.flush()


class Unpacked:
    """Reads the content of an open compressed file from its beginning; `suffix` is `.zst` or `.gz`.

    `size` is the number of bytes that the file claims to hold, None if it does not state one; only reading shows it for
    certain. At most 16 MiB more than requested are in memory at a time.

    Raises:
        WorkspaceError: by every method, for data that is cut short or damaged, for a file that says it holds
            more than `largest` bytes, and for one that is read further than that.
        OSError: the file cannot be read.
    """

    def __init__(self, file: BinaryIO, suffix: str = SUFFIX, largest: int = LARGEST) -> None:
        self._largest = largest
        self._position = 0
        self._waiting = b""
        self.size = None
        if suffix == SUFFIX:
            head = file.read(_FED)
            import zstandard

            try:
                size = zstandard.frame_content_size(head)
            except zstandard.ZstdError:
                raise _damaged("is damaged or not zstd data") from None
            self.size = size if size >= 0 else None
            self._pieces = _zstd_pieces(file, head)
        else:
            self._pieces = _gzip_pieces(file)
        if self.size is not None and self.size > largest:
            raise _too_large(largest)

    @property
    def more(self) -> bool:
        """Whether there is more to read."""
        while not self._waiting:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._waiting = piece
        return True

    def read(self, limit: int) -> bytes:
        """The next bytes, at most `limit`; fewer only at the end."""
        parts: list[bytes] = []
        while limit > 0 and self.more:
            part, self._waiting = self._waiting[:limit], self._waiting[limit:]
            self._position += len(part)
            if self._position > self._largest:
                raise _too_large(self._largest)
            limit -= len(part)
            parts.append(part)
        return b"".join(parts)


def _zstd_pieces(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    import zstandard

    # What a decoder has to keep of the past; the format's own advice for data from anywhere.
    decoder = zstandard.ZstdDecompressor(max_window_size=8 << 20)
    fed = head
    while fed:
        frame = decoder.decompressobj()
        while True:
            try:
                piece = frame.decompress(fed)
            except (zstandard.ZstdError, MemoryError):
                raise _damaged("is damaged") from None
            if piece:
                yield piece
            if frame.eof:
                break
            fed = file.read(_FED)
            if not fed:
                raise _damaged("is cut short")
        fed = frame.unused_data or file.read(_FED)


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    content = gzip.GzipFile(fileobj=file)
    try:
        piece = content.read1(_GZIP_PIECE)
        if not file.tell():
            raise _damaged("is not gzip data")
        while piece:
            yield piece
            piece = content.read1(_GZIP_PIECE)
    except EOFError:
        raise _damaged("is cut short") from None
    except (gzip.BadGzipFile, zlib.error):
        raise _damaged("is damaged or not gzip data") from None


def _damaged(what: str) -> WorkspaceError:
    return WorkspaceError(f"the compressed data {what} and cannot be unpacked; {_ADVICE}")


def _too_large(limit: int) -> WorkspaceError:
    size = f"{limit:,} bytes" if limit % LIMIT else f"{limit >> 20:,} MiB"
    return WorkspaceError(f"the compressed data expands to more than {size} and is not unpacked; {_ADVICE}")
