"""What stands in the prompt, written on in the person's own editor."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from core.errors import UniversalAgentError

__all__ = ["LARGEST_DRAFT", "DraftError", "edit_draft"]

LARGEST_DRAFT = 4 << 20
"""Bytes; more than this is not taken back from an editor."""


class DraftError(UniversalAgentError):
    """The draft is as it was; the message says why."""


def edit_draft(text: str, edit: Callable[[Path], int]) -> str | None:
    """Have `edit` change a private file that holds `text`; gives the new text, or None when it is unchanged.

    The file has mode 0600 in a folder of mode 0700, and both are gone afterwards with whatever the editor left
    beside it: a draft may hold what nobody else should read. The line break editors put at the end is dropped.

    Raises:
        DraftError: the editor failed, or what it left cannot be read.
        UniversalAgentError: whatever `edit` raises.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="ua-tui-"))
    except OSError as error:
        raise DraftError(
            f"The draft cannot be given to an editor: {error.strerror}. Check the folder for temporary files."
        ) from error
    try:
        return _edit(folder / "prompt.md", text, edit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _edit(path: Path, text: str, edit: Callable[[Path], int]) -> str | None:
    before = text.encode("utf-8", "replace")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(before)
    except OSError as error:
        raise DraftError(f"The draft cannot be given to an editor: {error.strerror}.") from error
    code = edit(path)
    if code != 0:
        raise DraftError(f"The editor ended with code {code}: the prompt is as it was.")
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            after = file.read(LARGEST_DRAFT + 1)
    except OSError as error:
        told = f"What the editor left cannot be read ({error.strerror}): the prompt is as it was."
        raise DraftError(told) from error
    if len(after) > LARGEST_DRAFT:
        raise DraftError(f"The text is longer than {LARGEST_DRAFT >> 20} MB: the prompt is as it was.")
    if after in (before, before + b"\n"):
        return None
    return after.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
