"""Splits the text of a block into sentences: English, German, French and Spanish.

A sentence that is not split does less harm than a figure that is cut off from its words, so that in doubt nothing is
split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ua_tui.observers.evidence.report import Link

_STOP = re.compile("(?:[.!?…]+|[。！？])(?:[\"'”’»“)\\]]|[ \u00a0\u202f]»){0,3}")
_WORD = re.compile(r"[^\s(\[„“\"'«]+$")
_NEXT = re.compile(r"[\s\"'“„«»‘‚(\[¿¡*•–—-]{0,6}([^\W\d_]+|\d+)?")
_MARK = re.compile(r"(?![\s\S]{0,24}\d{4})[\s\[\](){}^#,;\d⁰¹²³⁴-⁹*†‡.–-]{1,24}|\[\^[^\[\]]{1,60}\]")
_NAMES_SOURCE = re.compile(
    r"\W{0,3}(?:(?:sources?|quellen?|fuentes?|ref|link|via|here|read more|mehr|lien)\b"
    r"|[\w-]{1,60}(?:\.[\w-]{1,60}){0,5}\.[a-z]{2,6}\W?$)",
    re.IGNORECASE,
)
_TITLES = """
dr prof mr mrs ms mx st sr sra srta dra d.ª mme mlle m mm hr fr herr ing dipl dipl.-ing gen col sgt lt capt cpt maj
hrn rev hon gov sen rep pres ex e.g i.e eg ie z.b zb d.h u.a o.ä s.o s.u p.ej ej p.ex cf vgl bzw ggf evtl inkl exkl zzgl
abzgl ca approx circa env aprox ungef max min vs v nr núm num nº n° art abs kap abb fig figs tab eq sec sect ch
chap vol bd ed eds hrsg pp p pág págs s seite avg mind rd sog bspw insb einschl zz z.z z.zt i.d.r u.u
m.e n.b q.v viz op i.v dept univ assn bros mt ft av ave blvd str rte
jan feb febr mar apr jun jul aug sept sep oct okt nov dec dez janv févr avr juil déc ene abr ago dic
"""
"""Abbreviations that something follows."""
_ENDINGS = """
inc corp ltd llc co cos plc bros gmbh jr sr etc usw usf al u.s u.k u.n e.u u.s.a a.m p.m a.k.a ph.d d.c s.a s.l s.a.s
ee.uu b.v n.v mio mrd tsd mill bn mn hrs hr sec yr yrs pct bio std f ff
"""
"""Abbreviations that may end a sentence."""
_STARTERS = """
the a an this that these those it its they he she we you i in on at by for from with as if when while where what
which who how why there here however although because since after before during despite according both each most many
some all no not meanwhile moreover furthermore still yet also another such one two three but and so then overall
der die das den dem ein eine einen einem einer dies diese dieser dieses es er sie wir im in am an auf bei mit nach
von vor zu zum zur für über unter seit während wenn weil obwohl damit dabei dennoch jedoch auch noch nur so als wie
was wer wo insgesamt zudem außerdem laut beide jeder
le la les un une des ce cette ces il elle ils elles on nous en dans sur pour par avec selon après avant pendant depuis
mais et or donc ainsi cependant toutefois aussi au aux du de
el los las una unos este esta estos estas ese esa en con por para según después antes durante desde pero y así sin
también además al del se su sus
"""
"""Words that hardly stand after an abbreviation unless a sentence begins."""
_ORDINAL_BEFORE = re.compile(
    r"(?:^|\s)(?:am|vom|zum|im|beim|bis|der|die|das|dem|den|des|ein|eine[mnrs]?|seit|ab|auf|jede[mnrs]?|und|\d{1,2}\.)\s$",
    re.IGNORECASE,
)
_AFTER_ORDINALS = (
    "januar jänner februar märz april mai juni juli august september oktober november dezember quartal halbjahr "
    "jahrhundert jahrhunderts platz auflage mal stock geburtstag tag woche monat jahr lebensjahr"
)
_ORDINAL_AFTER = frozenset(_AFTER_ORDINALS.split())
_KNOWN_TITLES = frozenset(_TITLES.split())
_KNOWN_ENDINGS = frozenset(_ENDINGS.split())
_KNOWN_STARTERS = frozenset(_STARTERS.split())
_LONGEST_WORD = 30
_LONGEST = 2_000
"""Characters of a sentence; what is longer is no sentence, and each of its claims would be compared with all of it."""


def is_mark(text: str) -> bool:
    """Whether the text of a link is only a number, as that of a footnote is."""
    return _MARK.fullmatch(text) is not None


def split_sentences(text: str, links: Sequence[Link] = ()) -> Iterator[tuple[int, int]]:
    """Give the range of each sentence, without spaces around it; marks of notes after its stop belong to it.

    A sentence that is too long is given in pieces.
    """
    for begin, end in _sentences(text, links):
        at = begin
        while end - at > _LONGEST:
            cut = text.rfind(" ", at + _LONGEST // 2, at + _LONGEST)
            cut = cut if cut >= 0 else at + _LONGEST
            yield _trimmed(text, at, cut)
            at = _trimmed(text, cut, end)[0]
        yield at, end


def _sentences(text: str, links: Sequence[Link]) -> Iterator[tuple[int, int]]:
    starts = {link.start: link.end for link in links}
    begin = 0
    for stop in _STOP.finditer(text):
        if stop.start() < begin:
            continue
        after = _after_marks(text, stop.end(), starts, links)
        has_mark = after > stop.end()
        is_wide = stop[0][0] in "。！？"
        if not is_wide and not has_mark and after < len(text) and not text[after].isspace():
            continue
        if after < len(text) and not _ends(text, begin, stop, after, is_wide=is_wide):
            continue
        if text[begin:after].strip():
            yield _trimmed(text, begin, after)
        begin = after
    if text[begin:].strip():
        yield _trimmed(text, begin, len(text))


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _after_marks(text: str, at: int, starts: Mapping[int, int], links: Sequence[Link]) -> int:
    """The place after the marks of notes, or the links in brackets, that follow a stop."""
    if not links:
        return at
    while True:
        place = at + (text[at : at + 1] == " ")
        end = starts.get(place)
        if end is not None and end > place and _belongs_before(text[place:end]):
            at = end
            continue
        end = starts.get(place + 1)
        if end is not None and text[place] in "([" and text[end : end + 1] in {")", "]"}:
            at = end + 1
            continue
        # What is between two marks: "[1], [2]".
        if place > 0 and text[at : at + 1] == "," and starts.get(at + 1 + (text[at + 1 : at + 2] == " ")):
            following = at + 1 + (text[at + 1 : at + 2] == " ")
            if is_mark(text[following : starts[following]]):
                at = starts[following]
                continue
        return at


def _belongs_before(text: str) -> bool:
    """Whether a link after the end of a sentence says where the sentence is from."""
    return is_mark(text) or _NAMES_SOURCE.match(text) is not None


def _ends(text: str, begin: int, stop: re.Match[str], after: int, *, is_wide: bool) -> bool:
    """Whether a stop ends its sentence; `after` is the place behind its marks."""
    if is_wide:
        return True
    following = _NEXT.match(text, after)
    word = following[1] or "" if following else ""
    if word[:1].islower():
        return False
    if stop[0][0] != "." or stop[0].startswith(".."):
        return True
    if not (before := _WORD.search(text[max(stop.start() - _LONGEST_WORD, begin) : stop.start()])):
        return True
    if stop[0] != "." and stop[0][1] not in ")]":
        # A quotation that ends, and with it its sentence.
        return True
    return _ends_after(text, begin, stop.start(), before[0], word)


def _ends_after(text: str, begin: int, at: int, before: str, word: str) -> bool:
    """Whether a full stop after one word and before another ends a sentence."""
    known = before.lower()
    is_start = word.lower() in _KNOWN_STARTERS
    if known in _KNOWN_TITLES or (known == "no" and word.isdigit()):
        return False
    if known in _KNOWN_ENDINGS:
        return is_start
    if re.fullmatch(r"(?:[^\W\d_]\.)*[^\W\d_]", before):
        # Initials, and abbreviations in parts: "z. B.".
        return is_start
    if re.fullmatch(r"\d{1,2}", before):
        start = at - len(before)
        if start <= begin or not text[max(begin, start - 40) : start].strip():
            return False
        is_ordinal = _ORDINAL_BEFORE.search(text[max(start - 12, begin) : start]) is not None
        return not (word.lower() in _ORDINAL_AFTER or (is_ordinal and not is_start))
    return True
