"""Chooses the figures of a report that are checked, with what is around each.

Left out are: code, hidden text, the list of sources, the numbering of headings and lists, marks of footnotes, the
numbers of tables, figures, chapters and pages; words for small counts ("two reasons", "the first"), as hardly any of
them is taken from a source (on WiCE, half of those that are not found are supported all the same); and the day on
which the report was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.figures.find import find_figures
from ua_tui.observers.evidence.figures.headers import header_unit
from ua_tui.observers.evidence.report import Block, Report, Sentence
from ua_tui.observers.evidence.tracing.places import Context
from ua_tui.observers.evidence.tracing.words import Weights, stems

_MOST = 5_000
"""Figures that are checked; of a report with more these are the first."""
_SMALL_WORD = 12
_REFERENCE = re.compile(
    r"(?:tab(?:le|elle|leau|la)?|fig(?:ure|ura)?|abb(?:ildung)?|chart|exhibit|box|section|sect?|chapter|kapitel|abschnitt"
    r"|chapitre|capítulo|sección|appendix|anhang|annexe?|anexo|page|pages|pp?|seiten?|página|note|footnote|source|step"
    r"|schritt|étape|paso|part|teil|partie|no|nr|n°|nº|version|v|ref|item|question|§)"
    r"[.:]?[\s  ]?$",
    re.IGNORECASE,
)
_OWN_DATE = re.compile(
    r"(?:accessed|retrieved|as of|last (?:updated|checked|viewed)|date|updated|prepared|generated|written|compiled"
    r"|next (?:digest|report|update|issue|edition)|stand|datum|abgerufen(?: am)?|erstellt(?: am)?|zuletzt"
    r"|consulté(?: le)?|consultado(?: el)?|fecha|rédigé(?: le)?|rapport du|note du|bericht vom|informe del"
    r"|research date|report date)\s*:?\s*(?:on\s+|in\s+|am\s+|the\s+|\*+)?$",
    re.IGNORECASE,
)
_ONE = re.compile(
    r"(?:one|an?|eine?[rnms]?|une?|una|uno)[\s -]"
    r"(?!half|third|quarter|fifth|tenth|halb|drittel|viertel|tiers)",
    re.IGNORECASE,
)
_SHORT, _NOT_LONG = 70, 120
"""Characters of a line that may be the date of the report alone, and of one that may say that it is."""
_LINES = 12
"""Sentences at the beginning of a report among which its date is."""
_MARK_BEFORE, _MARK_AFTER = re.compile(r"[,;:·|•–—(]\s?\Z"), re.compile(r"\s?(?:[,;·|•–—)]|\.?\Z)")
_DAY = re.compile(r"\b(?:on|until|by|since) the \Z", re.IGNORECASE)
_OF_REPORT = re.compile(
    r"\b(?:reading time|min(?:ute)? read|word count|words long|confidence|lesezeit|wortzahl|konfidenz|sicherheit"
    r"|temps de lecture|niveau de confiance|tiempo de lectura|nivel de confianza"
    r"|(?:sources|articles|pages|documents|searches|queries) (?:consulted|cited|read|used|reviewed|run|made)|based on"
    r"|(?:i|we) (?:ran|read|opened|searched|consulted|reviewed|made|did)|(?:ich|wir) (?:habe|haben)|gelesen"
    r"|consultée?s?|lus?|consultad[oa]s|leyeron|leíd[oa]s)\b",
    re.IGNORECASE,
)
_READ = re.compile(
    r"\W{0,3}(?:news |full |primary |web )?(?:sources?|articles?|pages?|documents?|searches|queries|quellen|artikel"
    r"|seiten|suchen|dokumente|fuentes|artículos|páginas|documentos)\b",
    re.IGNORECASE,
)
_PAGES = re.compile(r"\b(?:page|seite|página) \d{1,4} (?:of|von|sur|de) \Z", re.IGNORECASE)
_SAMPLED, _LONGEST_SAMPLE = 8, 2_000
"""Texts and characters that tell the language of a report."""
_NUMBERING = re.compile(r"\s*[(\[]?\d{1,3}(?:\.\d{1,3}){0,4}[.)\]:]?\s")
_MARK = re.compile(r"[\s\[\](){}^#,;\d*†‡.-]{1,24}")
_AMOUNT = re.compile(r"\s*\d{1,3}(?:(?:[.,]\d{3}){1,6}(?:[.,]\d{1,6})?|[.,]\d{1,6})\s*|\s*\d{4,24}\s*")


@dataclass(frozen=True)
class Checked:
    """A figure of the report that is checked; `at` is where it begins in its sentence."""

    figure: Figure
    sentence: Sentence
    context: Context
    at: int


def select(report: Report, stop: Stop = NEVER) -> tuple[list[Checked], Weights]:
    """Choose the figures of a report, in order, and weigh its words."""
    chosen = []
    found: list[tuple[Sentence, list[Figure], frozenset[str]]] = []
    left = _MOST
    language = _sample(report)
    for sentence in report.sentences:
        stop.check()
        block = sentence.block
        if block.is_hidden or block.is_bibliography or block.kind in {"code", "heading"}:
            continue
        text = sentence.text
        around = stems(f"{text} {_headers(block)}")
        figures = list(islice(_figures(sentence, text, language), left)) if left else []
        left -= len(figures)
        found.append((sentence, figures, around))
    weights = Weights(words for _, _, words in found)
    previous: tuple[Block | None, frozenset[str]] = None, frozenset()
    for sentence, figures, around in found:
        block = sentence.block
        wide = stems(f"{block.section} {report.title}") | (
            previous[1] if previous[0] is block else frozenset()
        )
        for figure in figures:
            context = Context(around, wide, sentence.text[: figure.start])
            chosen.append(Checked(figure, sentence, context, figure.start))
        previous = block, around
    return chosen, weights


def _headers(block: Block) -> str:
    cell = block.cell
    return "" if cell is None else f"{cell.row_header} {cell.column_header} {cell.caption}"


def _sample(report: Report) -> str:
    """Some of the longer texts of a report, in its language."""
    texts = (
        block.text for block in report.blocks if block.kind in {"paragraph", "item"} and not block.is_hidden
    )
    return " ".join(islice((text for text in texts if len(text) > _SHORT), _SAMPLED))[:_LONGEST_SAMPLE]


def _figures(sentence: Sentence, text: str, around: str) -> Iterator[Figure]:
    """The figures of a sentence that are checked."""
    block = sentence.block
    cell = block.cell
    if cell is not None and cell.is_header:
        return
    unit = ""
    if cell is not None:
        units = (header_unit(header) for header in (cell.column_header, cell.row_header, cell.caption))
        unit = next(filter(None, units), "")
    for figure in find_figures(_without_marks(sentence), unit=unit, around=around):
        if not _is_left_out(figure, sentence, text):
            yield figure


def _without_marks(sentence: Sentence) -> str:
    """The sentence with spaces for the marks of footnotes: "of 185.⁵" has no 185.5."""
    text = sentence.text
    for link in sentence.block.links_in(sentence.start, sentence.end):
        start, end = max(link.start, sentence.start), min(link.end, sentence.end)
        shown = sentence.block.text[link.start : link.end]
        if start < end and _MARK.fullmatch(shown) and not _AMOUNT.fullmatch(shown):
            first, last = start - sentence.start, end - sentence.start
            text = text[:first] + " " * (last - first) + text[last:]
    return text


def _is_left_out(figure: Figure, sentence: Sentence, text: str) -> bool:
    start, end = sentence.start + figure.start, sentence.start + figure.end
    for link in sentence.block.links_in(start, end):
        if link.start <= start and end <= link.end:
            shown = sentence.block.text[link.start : link.end]
            if "://" in shown or "www." in shown:
                return True
    before = text[max(figure.start - 32, 0) : figure.start]
    if _is_of_report(figure, sentence, text):
        return True
    if figure.kind == "ordinal" and _DAY.search(before) and text[figure.end : figure.end + 1] in "),.;":
        return True
    if figure.kind == "date":
        return _is_own_date(figure, sentence, before)
    if figure.is_word and _ONE.match(figure.text):
        return True
    if figure.unit:
        return False
    if figure.is_word and (figure.kind == "ordinal" or abs(figure.value) <= _SMALL_WORD):
        return True
    if _REFERENCE.search(before) or _PAGES.search(before):
        return True
    return not figure.start and sentence.block.kind == "item" and bool(_NUMBERING.match(text))


def _is_of_report(figure: Figure, sentence: Sentence, text: str) -> bool:
    """Whether a figure says how long the report is, how sure it is, or what was read for it."""
    if _OF_REPORT.search(text[:_SHORT]) and (len(text) < _SHORT or _READ.match(text, figure.end)):
        return not sentence.cites
    # "2 pages" in the lines below the title.
    return sentence.number < _LINES and len(text) < _SHORT and _READ.match(text, figure.end) is not None


def _is_own_date(figure: Figure, sentence: Sentence, before: str) -> bool:
    """Whether a date says when the report was written or a page was opened, and not when something happened."""
    text = sentence.text
    is_alone = figure.end - figure.start > len(text.strip(" .:*_()")) - 4
    is_first = sentence.block.kind in {"paragraph", "item"} and sentence.number < _LINES
    if is_first and (is_alone or (all(figure.date[:2]) and _is_in_line(figure, sentence))):
        return True
    if before.rstrip().endswith("©"):
        return True
    longest = _NOT_LONG if is_first and not sentence.cites else _SHORT
    return (
        bool(_OWN_DATE.search(before))
        and len(text) < longest
        and (all(figure.date) or (is_first and not sentence.cites))
    )


def _is_in_line(figure: Figure, sentence: Sentence) -> bool:
    """Whether a date stands alone between marks, as in "Memo, 25.11.2026, page 1 of 2"."""
    text = sentence.text
    if sentence.cites or len(text) > _SHORT:
        return False
    return bool(_MARK_BEFORE.search(text[: figure.start]) and _MARK_AFTER.match(text, figure.end))
