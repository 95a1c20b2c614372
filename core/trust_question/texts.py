"""The files of a folder as they are shown to the user: as text, without secrets, and how they differ from before."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean
from ua_tui.core.trust.files import read_regular
from ua_tui.core.trust.state import fingerprint

LARGEST = 128 << 10
"""Bytes of a file that are shown."""

CHANGED = "(not shown: it changed while it was read)\n"


def shown_texts(
    folder: Path, files: Mapping[str, str], secrets: Iterable[str], given: Mapping[str, str]
) -> dict[str, str]:
    """The text of each file by its path in the folder, cleaned, and with the secrets masked.

    `files` has the fingerprint of each file, empty if it has none; `given` has the text of those that were read before.
    """
    hidden = sorted({each for each in secrets if len(each) >= 4}, key=len, reverse=True)
    redactor = Redactor(())
    texts = {}
    for file, expected in files.items():
        data = given[file].encode() if file in given else read_regular(folder / file, LARGEST)
        if data is not None and file not in given and expected not in ("", fingerprint(data)):
            texts[file] = CHANGED
            continue
        if data is None:
            texts[file] = "(not shown: it is no regular file, cannot be read, or is too large)\n"
            continue
        text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        for secret in hidden:
            text = text.replace(secret, masked(secret))
        texts[file] = clean(redactor.redact(text))
    return texts


def masked(secret: str) -> str:
    """Describe a secret, so that another secret of the same length is seen to be another one."""
    return f"(not shown: {len(secret)} characters, {sha256(secret.encode(errors='replace')).hexdigest()[:6]})"


def differences(before: Mapping[str, str], now: Mapping[str, str], files: Iterable[str]) -> list[str]:
    """The lines in which files differ from before, as in a unified diff; a file that is new has only new lines."""
    lines: list[str] = []
    for file in files:
        old, new = before.get(file, "").splitlines(), now.get(file, "").splitlines()
        lines.append(f"{file} ({'changed' if file in before else 'new'})")
        lines += list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    return lines
