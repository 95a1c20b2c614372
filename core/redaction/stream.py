"""Masks secrets in a text that arrives in pieces, none of which may be the half of one."""

from __future__ import annotations

import re

from core.redaction.redactor import Redactor

__all__ = ["StreamRedactor"]

_OPEN_END = re.compile(r"[!-~]+\Z")
_LONGEST_WAIT = 512
_CONTEXT = 4_096


class StreamRedactor:
    """Passes a text on, except for the beginning of a word or of a known secret, which waits until it is complete."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._passed = ""
        self._waiting = ""

    def feed(self, piece: str) -> str:
        """Add a piece; returns what can be passed on, without secrets."""
        self._waiting += piece
        return self._pass_on(self._complete())

    def end(self) -> str:
        """Return the rest at the end of the text; another text may follow."""
        rest = self._pass_on(len(self._waiting))
        self._passed = ""
        return rest

    def _complete(self) -> int:
        """How many of the waiting characters belong to complete words."""
        word = _OPEN_END.search(self._waiting[-_LONGEST_WAIT:])
        end = len(self._waiting) - (len(word[0]) if word and len(word[0]) < _LONGEST_WAIT else 0)
        return self._redactor.before_unfinished(self._waiting, end)

    def _pass_on(self, count: int) -> str:
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        if not ready:
            return ""
        # A name such as `password:` may have been passed on before its value came.
        before, whole = self._passed, self._passed + ready
        self._passed = whole[-_CONTEXT:]
        masked = self._redactor.redact(whole)
        if masked == whole:
            return ready
        before = self._redactor.redact(before)
        return masked.removeprefix(before) if masked.startswith(before) else self._redactor.redact(ready)
