"""Where large files of a team's sessions are: a folder, or a bucket of S3, each file by its SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.postgres.problems import needing_extra
from ua_tui.core.storage.files import Root
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from obstore.store import S3Store

LARGE = 5 << 20
"""Files that are larger are stored at a place, and not in the database."""
_PIECE = 1 << 20
_RETRIES = 2
_SHA256 = re.compile(r"[0-9a-f]{64}")


def open_place(setting: Path | str | None) -> FilePlace | None:
    """The place that the setting `team_artifacts` names: a folder, or `s3://bucket/prefix`.

    Raises:
        TeamError: it cannot be used.
    """
    if not setting:
        return None
    if isinstance(setting, str) and setting.startswith("s3://"):
        return BucketPlace(setting)
    try:
        return FolderPlace(Path(setting).expanduser())
    except WorkspaceError as error:
        raise TeamError(f"the folder for large files of the team cannot be used: {error}") from error


def verified(pieces: Iterable[bytes], sha256: str) -> Iterator[bytes]:
    """Pass on a file piece by piece; raises a `TeamError` at its end if it is another one."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != sha256:
        raise TeamError("its content is not what was stored")


class FolderPlace:
    """A folder that all machines of the team see."""

    def __init__(self, folder: Path) -> None:
        self._root = Root(folder, create=True)

    def url(self, sha256: str) -> str:
        """The path of a file."""
        return str(self._root.path / _name_of(sha256))

    def store(self, sha256: str, file: BinaryIO, size: int) -> None:
        """Store a file, unless it is there already."""
        name = _name_of(sha256)
        try:
            if not (self._root.exists(name) and self._root.size(name) == size):
                self._root.write_chunks(name, verified(iter(lambda: file.read(_PIECE), b""), sha256))
        except WorkspaceError as error:
            raise TeamError(f"a large file of the team cannot be stored: {error}") from error

    def read(self, sha256: str) -> Iterator[bytes]:
        """The content of a file, piece by piece."""
        try:
            with self._root.opened(_name_of(sha256)) as file:
                yield from iter(lambda: file.read(_PIECE), b"")
        except WorkspaceError as error:
            raise TeamError(f"a large file of the team cannot be read: {error}") from error


class BucketPlace:
    """A bucket of S3, or of a server that speaks its protocol; keys and server come from the environment.

    The variables are those of other tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL.
    """

    def __init__(self, address: str) -> None:
        bucket, _, prefix = address.removeprefix("s3://").partition("/")
        self._address = f"s3://{bucket}/{prefix}".rstrip("/")
        with needing_extra():
            from obstore.store import S3Store
        server = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        with self._reporting():
            self._store: S3Store = S3Store(
                bucket,
                prefix=prefix.strip("/") or None,
                # Whoever names a server without TLS means it.
                client_options={"allow_http": server.startswith("http://"), "timeout": timedelta(seconds=60)},
                retry_config={"max_retries": _RETRIES, "retry_timeout": timedelta(seconds=30)},
            )

    def url(self, sha256: str) -> str:
        """The address of a file."""
        return f"{self._address}/{_name_of(sha256)}"

    def store(self, sha256: str, file: BinaryIO, size: int) -> None:
        """Store a file, unless it is there already."""
        import obstore

        name = _name_of(sha256)
        with self._reporting():
            with suppress(FileNotFoundError):
                if obstore.head(self._store, name)["size"] == size:
                    return
            obstore.put(self._store, name, file)

    def read(self, sha256: str) -> Iterator[bytes]:
        """The content of a file, piece by piece."""
        import obstore

        name = _name_of(sha256)
        with self._reporting():
            for piece in obstore.get(self._store, name).stream(min_chunk_size=_PIECE):
                yield bytes(piece)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # What the library says has the request in it; its first line says what is wrong.
            reason = clean_line(str(error).partition("\n")[0], 200) or type(error).__name__
            raise TeamError(
                f"large files of the team at {self._address}: {reason}; check the AWS_* variables"
            ) from error


FilePlace = FolderPlace | BucketPlace
"""Stores files by the digest of their content. Call its methods in a thread; each raises `TeamError`."""


def _name_of(sha256: str) -> str:
    if _SHA256.fullmatch(sha256) is None:
        raise TeamError("a file of the team has no valid SHA-256")
    return f"{sha256[:2]}/{sha256}"
