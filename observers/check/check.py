"""The check of a report: compares its links, quotations and figures, and records what was found."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ua_tui.core.claims.records import NO_TEXT, Check, Source
from ua_tui.observers.check.blocks import Document, Places
from ua_tui.observers.check.figure_claims import check_figures
from ua_tui.observers.check.figures.numbers import style_of
from ua_tui.observers.check.link_claims import check_links
from ua_tui.observers.check.quotation_claims import check_quotations
from ua_tui.observers.check.sources import PassageIndex


def check_document(document: Document, sources: Sequence[Source], *, files: Collection[str] = ()) -> Check:
    """Compare a report with the sources that were read for it. Takes some tenths of a second: run it in a thread.

    `files` are the paths that links without a host may lead to, relative to the report.

    Raises:
        Stopped: the result is no longer needed.
    """
    style = style_of(" ".join(block.text for block in document.blocks[:400]))
    corpus = PassageIndex(sources)
    places = Places(document.blocks, style.words.abbreviations)
    quotations = [*check_quotations(document, corpus, places, style)]
    altered = [range(at, at + len(each.quote.exact)) for at, each in quotations if each.state == "differs"]
    figures = check_figures(document, style, corpus, places)
    found = [
        *check_links(document, corpus, places, files),
        *quotations,
        # The difference of an altered quotation is shown with it.
        *(each for each in figures if not any(each[0] in quotation for quotation in altered)),
    ]
    if not document.blocks:
        document.notices.append(NO_TEXT)
    if not corpus.passages:
        document.notices.append("No source has any text to compare with.")
    found.sort(key=lambda each: each[0])
    return Check(
        title=document.title, claims=tuple(claim for _, claim in found), notices=tuple(document.notices)
    )
