"""Edits a text, such as that of the prompt, in the person's editor."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.storage.regular_file import open_regular

LARGEST_DRAFT = 4 << 20
"""Bytes; a longer text is not accepted from the editor."""


class DraftError(UniversalAgentError):
    """The draft was not changed; the message says why."""


def edit_draft(text: str, edit: Callable[[Path], int], name: str = "prompt.md") -> str | None:
    """Call `edit` with a private file that contains `text`; returns the new text, or None if it is unchanged.

    The file is called `name`: editors colour by its ending.

    The file has mode 0600 in a folder of mode 0700, as a draft may be confidential. Both are deleted afterwards, with
    everything the editor left there. The line break that editors append is removed.

    Raises:
        DraftError: the editor failed, or its result cannot be read.
        UniversalAgentError: whatever `edit` raises.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="ua-tui-"))
    except OSError as error:
        raise DraftError(
            f"The editor cannot be started: {error.strerror}. Check the folder for temporary files."
        ) from error
    try:
        return _edit(folder / name, text, edit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _edit(path: Path, text: str, edit: Callable[[Path], int]) -> str | None:
    before = text.encode("utf-8", "replace")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(before)
    except OSError as error:
        raise DraftError(f"The draft cannot be written to a file: {error.strerror}.") from error
    code = edit(path)
    if code != 0:
        raise DraftError(f"The editor exited with code {code}. The text is unchanged.")
    try:
        with open(open_regular(path), "rb") as file:
            after = file.read(LARGEST_DRAFT + 1)
    except OSError as error:
        message = f"The edited text cannot be read ({error.strerror}). The text is unchanged."
        raise DraftError(message) from error
    if len(after) > LARGEST_DRAFT:
        raise DraftError(f"The text is longer than {LARGEST_DRAFT >> 20} MB. The text is unchanged.")
    if after in (before, before + b"\n"):
        return None
    return after.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
