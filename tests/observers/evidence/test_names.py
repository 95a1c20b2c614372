from __future__ import annotations

import pytest

from tests.observers.evidence.quoting.reports import Known, block, page, report
from ua_tui.core.evidence.records import Verdict
from ua_tui.observers.evidence.names import check_names
from ua_tui.observers.evidence.report import Block

SOURCE = (
    "Doe, Jane, leads the lab in Germany. Société Générale and the International Energy Agency paid for it, "
    "OpenAI did not. It was built by Nordwind with help of the Kovač family."
)


def names(*blocks: Block | str, title: str = "", source: str = SOURCE) -> list[str]:
    text = report(*(each if isinstance(each, Block) else block(each) for each in blocks), title=title)
    claims = list(check_names(text, Known([page(source)])))
    assert {claim.verdict for claim in claims} <= {Verdict.LOOK}
    for claim in claims:
        assert claim.sentence[claim.at :].startswith(claim.text)
    return [claim.text for claim in claims]


def test_gives_names_that_no_source_has_once() -> None:
    text = "The lab of Maria Oswaldtwistle is paid by Quantrell Power and by QXPW."
    assert names(text, text) == ["Maria Oswaldtwistle", "Quantrell Power", "QXPW"]
    assert names("Bank of Quantrell paid for it.") == ["Quantrell"]


@pytest.mark.parametrize(
    "text",
    [
        "The lab of Jane Doe is German, says Societe Generale.",
        "It is paid by the IEA and not by Open AI in March, said Kovac.",
        "Unusual words begin a sentence. Extraordinarily so. Note: Everything counts.",
        "The Extraordinary Rise Of Quantrell Power",
        "IT WAS QUANTRELL THAT DID IT",
        "Revenue of Nordwind rose.",
        "Der Bedarf ist mit den Netzen nicht so schnell gestiegen, wie es die Behörde für das Jahr sagte.",
    ],
)
def test_leaves_other_words_alone(text: str) -> None:
    assert names(text) == []


def test_leaves_titles_links_tables_and_lists_of_sources_alone() -> None:
    name = "about the lab of Quantrell"
    parts = [block(name, kind) for kind in ("heading", "cell", "code")]
    assert names(*parts, block(name, is_hidden=True), block(name, is_bibliography=True)) == []
    assert names("about the lab of Quantrell", title="Quantrell in numbers") == []


def test_gives_nothing_without_sources() -> None:
    assert list(check_names(report(block("about the lab of Quantrell")), Known())) == []
    query = Known([page("write about the lab", kind="query")])
    assert list(check_names(report(block("about the lab of Quantrell")), query)) == []


def test_hostile_names_are_bounded() -> None:
    words = " ".join(f"Quantrell{number:x}".replace("0", "q") for number in range(5_000))
    many = [f"it is of Zyxw{chr(97 + a)}{chr(97 + b)}vut" for a in range(26) for b in range(26)]
    assert len(names(*many, words)) == 200


def test_a_page_of_capital_letters_is_read_at_once() -> None:
    text = report(block("it says that the QZXW is about the lab"))
    (claim,) = check_names(text, Known([page("C" * 200_000)]))
    assert claim.text == "QZXW"
