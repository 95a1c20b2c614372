"""The program that reads a PDF's text in a process of its own: pages on standard output, one JSON line each."""

from __future__ import annotations

import io
import json
import sys

__all__ = ["main"]

_MOST_MEMORY = 1024 * 1024 * 1024
_MOST_PAGES = 40
_MOST_CHARACTERS = 20_000


def main() -> int:
    """Read a PDF from standard input; the first line tells the number of pages, each further one the text of one."""
    import resource

    # A page may ask for any amount of memory, and take any time: the one who started this ends it then.
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    import logging

    logging.disable()
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()))
    if reader.is_encrypted and not reader.decrypt(""):
        _say({"error": "It is protected by a password."})
        return 0
    title = reader.metadata.title if reader.metadata is not None else None
    _say({"pages": len(reader.pages), "title": title if isinstance(title, str) else None})
    for number in range(min(len(reader.pages), _MOST_PAGES)):
        try:
            text = reader.pages[number].extract_text()
        except Exception as error:
            text = f"(this page cannot be read: {type(error).__name__})"
        _say({"text": text[:_MOST_CHARACTERS]})
    return 0


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
