import msgspec

from ua_tui.core.evidence.records import Claim, Kind, ReportCheck, Verdict
from ua_tui.core.evidence.wording import summary


def check(*found: tuple[Kind, Verdict]) -> ReportCheck:
    claims = tuple(Claim(kind=kind, verdict=verdict, text="x", start=0, end=1) for kind, verdict in found)
    return ReportCheck(report="work_products/a.md", sha256="", claims=claims)


def test_the_summary_counts_each_kind_by_verdict() -> None:
    traced: tuple[Kind, Verdict] = ("figure", Verdict.TRACED)
    figures = [traced, traced, ("figure", Verdict.UNTRACED)]
    found = check(*figures, ("quotation", Verdict.VERBATIM), ("link", Verdict.READ), ("name", Verdict.LOOK))
    assert summary(found) == "3 figures: 2 traced, 1 untraced · 1 quotation verbatim · 1 of 1 link read"
    assert summary(check()) == "nothing to check: no figures, quotations or links"
    unread = msgspec.structs.replace(check(), notices=("A file is gone.", "Not read: 1 SVG picture."))
    assert summary(unread) == "no figures, quotations or links in what was read. Not read: 1 SVG picture"
