"""Words by which a report says that it has computed a figure itself, from others and not from a source."""

from __future__ import annotations

import re

_BEFORE = 70
_AFTER = 40
_FARTHEST = 300
_FLAGS = re.IGNORECASE
_THEREFORE = re.compile(
    r"\b(?:therefore|thus|hence|consequently|in other words|calculated|computed|own calculations?|(?:i|we) estimate"
    r"|somit|demnach|folglich|rechnerisch|berechnet|eigene berechnung|donc|calculée?s?|por tanto|calculad[oa]s?"
    r"|cálculo propio)\b",
    _FLAGS,
)
_SAYS_BEFORE = re.compile(
    r"(?<!\w)(?:i\.\s?e\.|that is|that['’]s|which is|means that|so that|equals?|equivalent to|equal to|corresponds? to"
    r"|works? out|comes? to|amounts? to|on the order of|leaves|leaving|impl(?:y|ies)|das sind|das ist|sind das"
    r"|entspr\w+|das hei(?:ß|ss)t|d\.\s?h\.|im schnitt|ein plus von|ein minus von|soit|c['’]est-à-dire|équiva\w+"
    r"|correspond\w*|rapporté\w*|en moyenne|es decir|o sea|equivale\w*|lo que supone|de media|resultan?)(?!\w)"
    r"(?:[^.;!?]|\.(?=\d))*\Z"
    r"|[(=≈→]\s{0,2}(?:[+−–±~≈-]|(?:about|around|roughly|up|down|rund|etwa|gut|knapp|un[oa]s|environ|minus|plus)\s)\s?\Z"
    r"|[=≈]\s{0,2}\Z|(?<!\w)(?:or|so|also|oder)\s(?:(?:about|around|roughly|some|almost|nearly|just|under|over|more|less|than"
    r"|rund|etwa|gut|knapp|fast)\s){0,3}\Z",
    _FLAGS,
)
_BRACKET = re.compile(r"\((?:el|un|unos?|le|la|les|a|the)?\s?\Z", _FLAGS)
_SHARE = re.compile(r"%|percent|per cent|prozent|pour cent|por ciento", _FLAGS)
_SAYS_AFTER = re.compile(
    r"[^.;!?]{0,25}?\b(?:on average|altogether|apiece|each|im schnitt|im monat|am tag|pro kopf|en moyenne|à eux deux"
    r"|de media|al mes|al año|as (?:many|much|large|high))\b",
    _FLAGS,
)

_PERIOD_BEFORE = re.compile(r"\b(?:first|last|past|next|previous|preceding|final|opening)\s\Z", _FLAGS)
_PERIOD_AFTER = re.compile(
    r"\s(?:ago|earlier|later|before|after|previously|from now|to (?:\w{3,9} )?(?:19|20)\d\d|(?:of|in) (?:19|20)\d\d)\b",
    _FLAGS,
)


def is_period(sentence: str, at: int, length: int) -> bool:
    """Whether the words around a time say how the report calls a period: "the first nine months", "five years ago"."""
    before, after = sentence[max(at - _BEFORE, 0) : at], sentence[at + length : at + length + _AFTER]
    return bool(_PERIOD_BEFORE.search(before) or _PERIOD_AFTER.match(after))


def is_said_to_be_computed(sentence: str, at: int, length: int) -> bool:
    """Whether the words around a figure say that it was computed: "i.e. 14", "or 3 each", "(12 %)"."""
    before = sentence[max(at - _FARTHEST, 0) : at]
    if _THEREFORE.search(before) or _SAYS_BEFORE.search(before[-_BEFORE:]):
        return True
    if _BRACKET.search(before[-_BEFORE:]) and _SHARE.search(sentence[at : at + length]):
        return True
    return _SAYS_AFTER.match(sentence[at + length : at + length + _AFTER]) is not None
