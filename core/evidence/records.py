"""The records of a checked report, as `report_checks/*.json` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

VERSION = 1

Kind = Literal["link", "quotation", "figure", "name"]
SourceKind = Literal["article", "search_row", "run", "result", "file", "query", "earlier"]
"""What a source is: a page that was read, a row of a search, a run in the sandbox, the result of another tool, a
local file, what the person wrote, or a page that an earlier session read."""


class Verdict(StrEnum):
    """What the check found out about a claim.

    Of links: `READ` in full, `SEEN` only in a search result or in the text of another source, `EARLIER` read by an
    earlier session, `LOCAL` a file that exists, `INVENTED` found nowhere. Of quotations: `VERBATIM` in the cited
    source, `MISATTRIBUTED` verbatim in another one, `ALTERED` similar to a passage, `NOT_FOUND`. Of figures: `TRACED`
    to the cited source, `CONVERTED` from a rounded or converted figure of a source, `DERIVED` from other figures,
    `OTHER_SOURCE` in a source that is not cited, `UNTRACED`. Of names: `FOUND` or `LOOK`. `UNCHECKED` is what could
    not be decided, such as a claim whose sources have been deleted.
    """

    READ = "read"
    SEEN = "seen"
    EARLIER = "earlier"
    LOCAL = "local"
    INVENTED = "invented"
    VERBATIM = "verbatim"
    MISATTRIBUTED = "misattributed"
    ALTERED = "altered"
    NOT_FOUND = "not_found"
    TRACED = "traced"
    CONVERTED = "converted"
    DERIVED = "derived"
    OTHER_SOURCE = "other_source"
    UNTRACED = "untraced"
    FOUND = "found"
    LOOK = "look"
    UNCHECKED = "unchecked"


class Level(StrEnum):
    """How a verdict is to be taken: the claim is supported, a person should look, or nothing supports it."""

    SUPPORTED = "supported"
    LOOK = "look"
    UNSUPPORTED = "unsupported"


LEVELS: Mapping[Verdict, Level] = {
    Verdict.READ: Level.SUPPORTED,
    Verdict.SEEN: Level.LOOK,
    Verdict.EARLIER: Level.SUPPORTED,
    Verdict.LOCAL: Level.SUPPORTED,
    Verdict.INVENTED: Level.UNSUPPORTED,
    Verdict.VERBATIM: Level.SUPPORTED,
    Verdict.MISATTRIBUTED: Level.UNSUPPORTED,
    Verdict.ALTERED: Level.UNSUPPORTED,
    Verdict.NOT_FOUND: Level.UNSUPPORTED,
    Verdict.TRACED: Level.SUPPORTED,
    Verdict.CONVERTED: Level.SUPPORTED,
    Verdict.DERIVED: Level.SUPPORTED,
    Verdict.OTHER_SOURCE: Level.LOOK,
    Verdict.UNTRACED: Level.UNSUPPORTED,
    Verdict.FOUND: Level.SUPPORTED,
    Verdict.LOOK: Level.LOOK,
    Verdict.UNCHECKED: Level.LOOK,
}


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A text that the check compared claims with.

    `path` is relative to the session's folder, `part` the number of a row in it, `tool_use_id` the call that gave it.
    `session` is the folder of an earlier session, empty for the running one. `published` is as the source states it.
    `sha256` is that of the text, in hexadecimal. `gone` says that the text is no longer there.
    """

    kind: SourceKind
    title: str = ""
    url: str = ""
    path: str = ""
    part: int = 0
    tool_use_id: str = ""
    session: str = ""
    published: str = ""
    read_at: datetime | None = None
    sha256: str = ""
    gone: bool = False


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The passage of a source behind a verdict.

    `source` is an index of `ReportCheck.sources`; `start` and `end` are characters of the source's text. `passage`
    is that text with its surroundings, on one line, and `marks` are the ranges of the passage that matter.
    """

    source: int
    start: int = 0
    end: int = 0
    passage: str = ""
    marks: tuple[tuple[int, int], ...] = ()


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A link, quotation, figure or name of the report, and its verdict.

    `start` and `end` are characters of the report's source (its decoded text with all markup). `text` is the claim as
    a reader sees it, `sentence` the sentence or table cell around it, `section` the heading above it; `at` is where
    the claim begins in the sentence. `note` explains the verdict in sentences, or is a calculation such as
    "41 + 17 = 58". `remarks` are sentences that say what is suspicious, such as that there are invisible characters.
    `url` is the address of a link, or the one cited for the claim.
    """

    id: int = 0
    kind: Kind
    verdict: Verdict
    text: str
    start: int
    end: int
    sentence: str = ""
    at: int = 0
    section: str = ""
    url: str = ""
    note: str = ""
    remarks: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @property
    def level(self) -> Level:
        """How the verdict is to be taken."""
        return LEVELS[self.verdict]

    @property
    def is_doubtful(self) -> bool:
        """Whether a person should look at it."""
        return self.level is not Level.SUPPORTED or bool(self.remarks)


class Disagreement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sources that give different values for the same thing; `values` are in the order of `evidence`."""

    subject: str
    values: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    claims: tuple[int, ...] = ()


class ReportCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The check of one version of a report.

    `report` is its path relative to the session's folder, `sha256` that of the checked file. `is_cut` says that only
    the beginning of the report was checked. `notices` are sentences about the check, such as that there were no
    sources.
    """

    version: int = VERSION
    report: str
    sha256: str
    title: str = ""
    checked_at: datetime | None = None
    duration_ms: float = 0.0
    is_cut: bool = False
    notices: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """The claims that nothing supports."""
        return tuple(claim for claim in self.claims if claim.level is Level.UNSUPPORTED)

    def counts(self) -> Counter[tuple[Kind, Verdict]]:
        """How many claims of each kind have each verdict."""
        return Counter((claim.kind, claim.verdict) for claim in self.claims)
