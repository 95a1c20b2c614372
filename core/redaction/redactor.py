"""What lines, links and errors go through before they are stored: secrets out, misleading characters escaped."""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from core.errors import causes_of
from core.events.types import ErrorRaised
from core.text import REDACTED, Redactor, clean, escape_unsafe, middle_truncate

__all__ = ["error_raised", "mask_link", "preview", "seal_json"]


def error_raised(where: str, error: Exception, redactor: Redactor) -> ErrorRaised:
    """Tell of a failure and of what is behind it, cleaned and without secrets."""
    return ErrorRaised(
        where=where,
        message=redactor.redact(clean(str(error))) or type(error).__name__,
        causes=[redactor.redact(clean(cause))[:500] for cause in causes_of(error)],
    )


def mask_link(url: str) -> str:
    """Keep the scheme and host of a link that is itself a secret, and mask the rest."""
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        return REDACTED
    return f"{parts.scheme}://{host}/{REDACTED}" if parts.scheme and host else REDACTED


def preview(text: str, limit: int, redactor: Redactor) -> str:
    """Cut a text to `limit` characters, without secrets, and without a secret cut in half at either side of the gap."""
    window = 2 * limit
    if len(text) <= 2 * window:
        return middle_truncate(redactor.redact(text), limit)
    head, tail = redactor.redact(text[:window]), redactor.redact(text[-window:])
    kept = limit // 2 - 30
    left_out = len(text) - 2 * kept
    return f"{head[:kept]}\n[… {left_out} characters left out …]\n{tail[-kept:]}"


def seal_json(text: str, redactor: Redactor) -> bytes:
    """Turn encoded JSON into a line for a file: without secrets and without characters that could mislead a reader."""
    masked = redactor.redact(text)
    if masked != text and not _is_json(masked):
        # A mask that ate a piece of the syntax: mask value by value instead, which cannot.
        masked = msgspec.json.encode(redactor.redact_value(msgspec.json.decode(text))).decode()
    # Searching a large text for rare characters takes milliseconds; most lines are plain ASCII.
    plain = masked.isascii() and "\x7f" not in masked
    return (masked if plain else escape_unsafe(masked)).encode("utf-8", "replace") + b"\n"


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
