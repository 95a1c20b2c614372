"""What a check of a report found: its claims, each with a state and the passages behind it. Ready for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec

from ua_tui.core.events.units import quantity

Kind = Literal["figure", "quotation", "link"]
SourceKind = Literal["article", "search_row", "run", "result", "file", "query", "earlier"]
"""What a source is: a page that was read, a row of a search, a run in the sandbox, the result of another tool, a
local file, what the person wrote, or a page that an earlier session read."""
State = Literal["found", "calculated", "differs", "not found", "never seen", "not looked at"]
_MEANINGS: Mapping[State, str] = {
    "found": "A passage about the same thing contains it.",
    "calculated": "It follows from values in the sources.",
    "differs": "A passage about the same thing says something else.",
    "not found": "No source contains it.",
    "never seen": "This address was never read or found.",
    "not looked at": "The check does not cover claims of this kind.",
}
"""What each state says of a figure, a quotation or a link."""
_AROUND = 32
"""Characters before and after an anchor, as in the examples of the Web Annotation model."""
RED: frozenset[State] = frozenset({"differs", "never seen"})
"""The states that are wrong by all that was read: the draft of an agent is sent back for them."""
DOUBTFUL: frozenset[State] = frozenset({*RED, "not found"})
"""The states that a person should look at."""
RISK: tuple[State, ...] = ("differs", "never seen", "not found", "calculated", "found", "not looked at")
"""The states from the riskiest to the safest, as tables sort them."""
NO_TEXT = "The report has no text that can be read."
"""The notice of a check of nothing."""
_ORDER: tuple[State, ...] = ("found", "calculated", "not found", "differs", "never seen", "not looked at")


class TextQuote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a text by its words, as in the W3C's Web Annotation model, so that any rendering can find it again.

    `exact` are the words, `prefix` and `suffix` what is before and after them in the visible text.
    """

    exact: str
    prefix: str = ""
    suffix: str = ""

    @classmethod
    def of(cls, text: str, start: int, end: int) -> TextQuote:
        """The quote of a range of a text."""
        return cls(text[start:end], text[max(0, start - _AROUND) : start], text[end : end + _AROUND])


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a text came from that claims are compared with, how others find it, and for the check the text.

    Attributes:
        title: like `author`, `site` and `published`, as the source states it.
        url: where it was read; `addresses` are others where it was.
        read_at: when a session read it.
        sha256: the hash of the text that was read, in hexadecimal.
        path: the file, relative to the session's folder, or to the current one if it was given.
        part: the number of a row in the file.
        tool_use_id: the call that gave it.
        session: the folder of an earlier session.
        text: Markdown, or as `media_type` says; it is not stored.
        links: addresses that it names beside those in its text; they are not stored.
        was_read: false for a search result that was only seen; it is not stored.
    """

    kind: SourceKind
    title: str = ""
    url: str = ""
    author: str = ""
    site: str = ""
    published: str = ""
    read_at: datetime | None = None
    sha256: str = ""
    path: str = ""
    part: int = 0
    tool_use_id: str = ""
    session: str = ""
    text: str = ""
    media_type: str = "text/markdown"
    addresses: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    was_read: bool = True

    @property
    def name(self) -> str:
        """Its title, else its address, file or kind."""
        return self.title or self.url or self.path or self.kind.replace("_", " ")

    @property
    def record(self) -> Source:
        """What is stored of it."""
        plain = {"text": "", "media_type": "text/markdown", "addresses": (), "links": (), "was_read": True}
        return msgspec.structs.replace(self, **plain)


class Passage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A paragraph, list item or table row of a source.

    `source` is the index of the source as it was given to `check`. `quote` is where in the passage the value or the
    words are; its `exact` is empty if nothing of the passage matters more than the rest. `text` is the passage.
    `headers` are the column headings of a table row.
    """

    source: int
    text: str
    quote: TextQuote = TextQuote("")
    headers: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A figure, quotation or link of the report and what the sources have.

    Attributes:
        quote: the claim in the visible text of the report.
        sentence: the sentence or table row that it belongs to.
        section: the heading above it.
        url: the address of a link, or the one that the sentence cites.
        passages: for `found` where it is; for `calculated` one for each operand; for `differs` the one that has
            something else, or the operands; for `not found` the nearest one, if any is near.
        instead: for `differs` what the source has.
        formula: the calculation in figures that gives the value, such as "41 + 17 = 58"; for `differs` one in the other
            direction.
        note: one sentence that explains the state.
        was_read: of a link that was found whether its page was read, too.
    """

    kind: Kind
    state: State
    quote: TextQuote
    sentence: str = ""
    section: str = ""
    url: str = ""
    passages: tuple[Passage, ...] = ()
    instead: str = ""
    formula: str = ""
    note: str = ""
    was_read: bool = True

    def as_state(self, state: State, note: str, passages: tuple[Passage, ...] = (), **more: Any) -> Claim:
        """The claim with what was found; `more` are other fields."""
        return msgspec.structs.replace(self, state=state, note=note, passages=passages, **more)

    @property
    def meaning(self) -> str:
        """One sentence that explains the state: the note, or what the state always means."""
        return self.note or _MEANINGS[self.state]

    @property
    def risk(self) -> int:
        """The rank of its state among others: the riskiest has the lowest."""
        return RISK.index(self.state)

    @property
    def is_doubtful(self) -> bool:
        """Whether a person should look at it."""
        return self.state in DOUBTFUL


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The claims of a report in the order of its text, and sentences about what was not looked at."""

    title: str = ""
    claims: tuple[Claim, ...] = ()
    notices: tuple[str, ...] = ()

    def counts(self) -> dict[str, dict[str, int]]:
        """For each kind of claim how many have each state, without those that none has."""
        counts: dict[str, dict[str, int]] = {}
        for (kind, state), count in sorted(Counter((each.kind, each.state) for each in self.claims).items()):
            counts.setdefault(kind, {})[state] = count
        return counts

    @property
    def red(self) -> tuple[Claim, ...]:
        """The claims that differ from a source, and the links to what was never seen."""
        return tuple(claim for claim in self.claims if claim.state in RED)

    @property
    def summary(self) -> str:
        """Say what was compared and what was not.

        Such as "62 figures: 55 found, 4 calculated, 2 not found, 1 differs · 2 quotations verbatim · 12 of 12 links
        read. Nothing else was checked."
        """
        counts = self.counts()
        unread = sum(not claim.was_read for claim in self.claims)
        parts = (_part(kind, counts[kind], unread) for kind in get_args(Kind) if kind in counts)
        said = " · ".join(parts) or "No figures, quotations or links"
        return f"{said}. Nothing else was checked."


def _part(kind: Kind, counts: Mapping[str, int], unread: int) -> str:
    found = {state: counts[state] for state in _ORDER if state in counts}
    total = quantity(sum(found.values()), kind)
    if kind == "link":
        seen = found.get("found", 0)
        return f"{seen - unread:,} of {total} read" + (f", {unread:,} found but not read" if unread else "")
    if kind == "quotation" and list(found) == ["found"]:
        return f"{total} verbatim"
    names = {"found": "verbatim"} if kind == "quotation" else {}
    said = (counted_state(count, names.get(state, state)) for state, count in found.items())
    return f"{total}: {', '.join(said)}"


def counted_state(count: int, state: str) -> str:
    """A number of claims with their state, such as "1 differs" and "2 differ"."""
    return f"{count:,} {'differ' if state == 'differs' and count > 1 else state}"
