"""The program that extracts the text of a PDF in a separate process: one JSON line for each page."""

from __future__ import annotations

import io
import json
import sys

__all__ = ["main"]

_MAX_MEMORY = 1024 * 1024 * 1024
_MAX_PAGES = 40
_MAX_CHARACTERS = 20_000


def main() -> int:
    """Read a PDF from standard input; write a line with the number of pages, then a line with the text of each page."""
    import resource

    # A page may need any amount of memory and any time; the parent process kills this one after its timeout.
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    import logging

    logging.disable()
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        _write({"error": "The file is protected by a password."})
        return 0
    title = reader.metadata.title if reader.metadata is not None else None
    _write({"pages": len(reader.pages), "title": title if isinstance(title, str) else None})
    for number in range(min(len(reader.pages), _MAX_PAGES)):
        try:
            text = reader.pages[number].extract_text()
        except Exception as error:
            text = f"(this page cannot be read: {type(error).__name__})"
        _write({"text": text[:_MAX_CHARACTERS]})
    return 0


def _write(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
