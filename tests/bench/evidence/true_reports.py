"""Loads true reports with their sources, the places where truth is known, and small errors that can be planted.

`reports/README.md` describes the files. Nothing here depends on the check that is measured: the text that a reader
sees is made here as well. `python -m tests.bench.evidence.true_reports FOLDER…` counts and verifies folders.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import msgspec
from lxml import html  # type: ignore[import-untyped]  # ships no types
from markdown_it import MarkdownIt

Kind = Literal["figure", "quotation", "link"]
Truth = Literal["found", "calculated", "bare"]
Written = Literal["same", "notation", "rounded", "converted", "words", ""]
Operation = Literal["sum", "difference", "share", "change", "ratio", "product", "mean", "midpoint", ""]
State = Literal["found", "calculated", "differs", "not found", "never seen", "not looked at"]
Error = Literal[
    "wrong value", "wrong scale", "flipped sign", "other rate", "other unit of count", "other period",
    "swapped values", "altered quotation", "invented link", "invented figure", "wrong calculation",
]  # fmt: skip
ERRORS: Sequence[Error] = get_args(Error)

REPORTS = Path(__file__).with_name("reports")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_UNSEEN = {"script", "style", "template", "head", "title", "noscript"}
_INLINE = {"a", "abbr", "b", "cite", "code", "em", "i", "mark", "q", "s", "small", "span", "strong", "sub", "sup",
           "time", "tspan", "u", "wbr"}  # fmt: skip
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_MARKDOWN = MarkdownIt("commonmark").enable("table")


class Passage(msgspec.Struct, frozen=True):
    """A place in a source: the file's name and the exact characters in it."""

    source: str
    exact: str


class Operand(msgspec.Struct, frozen=True):
    """A value that a calculation uses, as the passage has it and as a number."""

    text: str
    value: float
    passage: Passage


class Span(msgspec.Struct, frozen=True):
    """A place in the report of which the truth is known; of a link, `exact` is its address."""

    exact: str
    kind: Kind
    truth: Truth
    prefix: str = ""
    suffix: str = ""
    written: Written = ""
    source: str = ""
    passages: Sequence[Passage] = ()
    operation: Operation = ""
    operands: Sequence[Operand] = ()
    result: float | None = None
    awkward: str = ""


class Planted(msgspec.Struct, frozen=True):
    """An edit that makes the report wrong at one place; `claim` is what a reader then sees there."""

    kind: Error
    old: str
    new: str
    claim: str
    expected: State
    acceptable: Sequence[State]


class SourceText(msgspec.Struct, frozen=True):
    """Something that was read before the report was written."""

    file: str
    url: str
    title: str
    media_type: str
    text: str = ""


class Case(msgspec.Struct, frozen=True):
    """What `case.json` holds."""

    language: str
    subject: str
    report: str
    media_type: str
    sources: Sequence[SourceText]
    spans: Sequence[Span]
    planted: Sequence[Planted]
    unseen: Sequence[str] = ()


class TrueReport(msgspec.Struct, frozen=True, dict=True):
    """A report whose every figure, quotation and link is true, with what is known of it."""

    name: str
    case: Case
    text: str
    sources: Sequence[SourceText]

    @cached_property
    def seen(self) -> str:
        """The report as a reader sees it."""
        return reader_text(self.text, self.case.media_type)

    def with_error(self, planted: Planted) -> str:
        """The report with one error; the old text must be in it once."""
        count = self.text.count(planted.old)
        if count != 1:
            raise ValueError(f"{self.name}: {planted.old!r} is in the report {count} times")
        return self.text.replace(planted.old, planted.new)


def read_reports(folder: Path = REPORTS / "dev", verify: bool = True) -> list[TrueReport]:
    """Every report of a folder, by name; raises `ValueError` if one of them is not what it says."""
    reports = [_read_report(path.parent) for path in sorted(folder.glob("*/case.json"))]
    wrong = [f"{each.name}: {problem}" for each in reports if verify for problem in problems(each)]
    if wrong:
        raise ValueError("\n".join(wrong))
    return reports


def _read_report(folder: Path) -> TrueReport:
    case = msgspec.json.decode((folder / "case.json").read_bytes(), type=Case)
    sources = [
        msgspec.structs.replace(each, text=(folder / each.file).read_text(encoding="utf-8"))
        for each in case.sources
    ]
    return TrueReport(folder.name, case, (folder / case.report).read_text(encoding="utf-8"), sources)


def reader_text(text: str, media_type: str) -> str:
    """What a reader sees of HTML or Markdown, on one line and without invisible characters."""
    markup = _MARKDOWN.render(text) if media_type == "text/markdown" else text
    root = html.document_fromstring(markup or "<p></p>")
    return squeezed("".join(_pieces(root)))


def _pieces(element: html.HtmlElement) -> Iterator[str]:
    if isinstance(element.tag, str):
        tag = element.tag.rpartition("}")[2].lower()
        hidden = "hidden" in element.attrib or _HIDING.search(element.get("style", ""))
        if tag not in _UNSEEN and not hidden:
            space = "" if tag in _INLINE else " "
            yield space + (element.text or "")
            for child in element:
                yield from _pieces(child)
            yield space
    yield element.tail or ""


def squeezed(text: str) -> str:
    """Text with single spaces and without invisible characters."""
    return " ".join(_INVISIBLE.sub("", text).split())


def locate(
    seen: str, exact: str, prefix: str = "", suffix: str = "", start: int = 0
) -> tuple[int, int] | None:
    """Where a text quote is, preferring the place whose surroundings agree best, then the first one after `start`."""
    exact = squeezed(exact)
    if not exact:
        return None
    before, after = ("".join(squeezed(each).split()) for each in (prefix, suffix))
    best: tuple[tuple[int, bool, int], tuple[int, int]] | None = None
    for match in re.finditer(_bounded(exact), seen):
        left = "".join(seen[max(0, match.start() - 2 * len(prefix) - 8) : match.start()].split())
        right = "".join(seen[match.end() : match.end() + 2 * len(suffix) + 8].split())
        agreeing = _common(left[::-1], before[::-1]) + _common(right, after)
        rank = (agreeing, match.start() >= start, -match.start())
        if best is None or rank > best[0]:
            best = rank, match.span()
    return best[1] if best else None


def _bounded(exact: str) -> str:
    """A pattern of the text that does not begin or end inside a number or a word."""
    left = r"(?<![\d\w])(?<!\d[.,])" if exact[0].isdigit() else r"(?<!\w)" if exact[0].isalpha() else ""
    right = r"(?!\d|[.,]\d)" if exact[-1].isdigit() else r"(?!\w)" if exact[-1].isalpha() else ""
    return left + re.escape(exact) + right


def _common(first: str, second: str) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


def place_of_error(report: TrueReport, planted: Planted) -> tuple[int, int]:
    """Where the reader sees the error: the changed characters together with the wrong claim (0, 0 for a link)."""
    if planted.kind == "invented link":
        return 0, 0
    seen = reader_text(report.with_error(planted), report.case.media_type)
    left = _common(report.seen, seen)
    right = min(_common(report.seen[::-1], seen[::-1]), len(report.seen) - left, len(seen) - left)
    changed = left, max(len(seen) - right, left)
    claims = [match.span() for match in re.finditer(_bounded(squeezed(planted.claim)), seen)]
    if not claims:
        raise ValueError(f"{report.name}: the claim {planted.claim!r} is not seen after the edit")
    nearest = min(claims, key=lambda each: max(each[0] - changed[1], changed[0] - each[1], 0))
    if max(nearest[0] - changed[1], changed[0] - nearest[1], 0) > 120:
        raise ValueError(f"{report.name}: the claim {planted.claim!r} is far from the edit")
    return min(nearest[0], changed[0]), max(nearest[1], changed[1])


def calculated(operation: Operation, values: Sequence[float]) -> float:
    """The result of a calculation; shares and changes in percent."""
    match operation:
        case "sum":
            return math.fsum(values)
        case "product":
            return math.prod(values)
        case "difference":
            return abs(values[0] - values[1])
        case "share":
            return 100 * values[0] / values[1]
        case "change":
            return 100 * abs(values[1] - values[0]) / abs(values[0])
        case "ratio":
            return values[0] / values[1]
        case "mean" | "midpoint":
            return math.fsum(values) / len(values)
        case _:
            return values[0]


def problems(report: TrueReport) -> Iterator[str]:
    """What is wrong with a case; nothing of a good one."""
    texts = {each.file: each.text for each in report.sources}
    places = []
    for span in report.case.spans:
        if span.kind == "link":
            if span.exact not in report.text:
                yield f"no link {span.exact!r}"
        else:
            place = locate(report.seen, span.exact, span.prefix, span.suffix)
            places.append(place)
            if place is None:
                yield f"the report has no {span.exact!r}"
            elif not squeezed(report.seen[: place[0]]).endswith(squeezed(span.prefix)[-8:]):
                yield f"{span.exact!r} is not where it is said to be"
        if (span.truth == "bare") is bool(span.passages or span.operands or span.kind == "link"):
            yield f"{span.exact!r} has passages and is bare, or neither"
        for passage in (*span.passages, *(each.passage for each in span.operands)):
            if passage.exact not in texts.get(passage.source, ""):
                yield f"{passage.source} has no {passage.exact!r}"
        yield from _wrong_calculation(span)
    if len(set(places)) != len(places):
        yield f"two spans are at one place: {[each for each, count in Counter(places).items() if count > 1]}"
    for hidden in report.case.unseen:
        if hidden in report.seen or hidden not in report.text:
            yield f"{hidden!r} is seen, or is not in the report"
    yield from _wrong_errors(report)


def _wrong_errors(report: TrueReport) -> Iterator[str]:
    for planted in report.case.planted:
        try:
            place_of_error(report, planted)
        except ValueError as error:
            yield str(error)
        if planted.expected not in planted.acceptable:
            yield f"{planted.new!r}: the expected state is not acceptable"
    if len({(each.old, each.new) for each in report.case.planted}) != len(report.case.planted):
        yield "an error is planted twice"


def _wrong_calculation(span: Span) -> Iterator[str]:
    if span.truth != "calculated":
        return
    if not span.operation or span.result is None:
        yield f"{span.exact!r} has no operation or result"
        return
    for operand in span.operands:
        if operand.text not in operand.passage.exact:
            yield f"{operand.text!r} is not in {operand.passage.exact!r}"
    exact = calculated(span.operation, [each.value for each in span.operands])
    if abs(exact - span.result) > max(0.06 * abs(span.result), 1e-9):
        yield f"{span.exact!r}: {span.operation} gives {exact}, not {span.result}"


def main(folders: Sequence[str]) -> int:
    """Print what each folder has and what is wrong with it; 1 if anything is."""
    wrong = 0
    for folder in folders or [str(REPORTS / "dev")]:
        reports = read_reports(Path(folder), verify=False)
        for report in reports:
            for problem in problems(report):
                wrong += 1
                print(f"{report.name}: {problem}")
        spans = [span for report in reports for span in report.case.spans]
        planted = [each for report in reports for each in report.case.planted]
        print(f"{folder}: {len(reports)} reports, {len(spans)} spans, {len(planted)} planted errors")
        counted: Sequence[tuple[str, Counter[str]]] = [
            ("language", Counter(each.case.language for each in reports)),
            ("format", Counter(each.case.media_type for each in reports)),
            ("kind", Counter(each.kind for each in spans)),
            ("truth of figures", Counter(each.truth for each in spans if each.kind == "figure")),
            ("written", Counter(each.written for each in spans if each.written)),
            ("operation", Counter(each.operation for each in spans if each.operation)),
            ("awkward", Counter(each.awkward for each in spans if each.awkward)),
            ("planted", Counter(each.kind for each in planted)),
        ]
        for name, counts in counted:
            print(f"  {name}: {', '.join(f'{each} {count}' for each, count in counts.most_common())}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
