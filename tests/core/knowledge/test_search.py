"""Searches in files that the store has filled."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.postgres_server import Cluster
from ua_tui.core.concurrency.cancellation import stoppable
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE, KnowledgePlace
from ua_tui.core.knowledge.records import Batch, Cursor, Hit, IndexedCall, Kind, KnowledgeDocument
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address
from ua_tui.observers.knowledge.figures import figures_near

DAY = 86_400.0
NOW = time.time()


def document(
    title: str, text: str, *, kind: Kind = "article", age: float = 1, path: str = "", **more: Any
) -> KnowledgeDocument:
    return KnowledgeDocument(
        kind=kind, title=title, text=text, path=path or title, made_at=NOW - age * DAY, **more
    )


def fill(
    place: KnowledgePlace,
    *documents: KnowledgeDocument,
    folder: str = "session_1",
    call: str = "",
    **facts: Any,
) -> None:
    calls = [IndexedCall(tool_use_id="t", tool=call)] if call else []
    with open_store(place) as store:
        before = store.cursor(folder)
        after = Cursor(before.seq + 1, before.place + 1)
        assert store.apply(
            folder, before, Batch(after=after, **({"title": ""} | facts), calls=calls, documents=documents)
        )


@pytest.fixture
def search(place: KnowledgePlace) -> Iterator[KnowledgeSearch]:
    """A search without a limit of time, so that a slow machine finds the same."""
    with closing(KnowledgeSearch(place, budget=60)) as found:
        yield found


@pytest.fixture
def file_search(path: Path) -> Iterator[KnowledgeSearch]:
    """A search in the file."""
    with closing(KnowledgeSearch(path, budget=60)) as found:
        yield found


def titles(found: KnowledgeSearch, text: str, **more: Any) -> list[str]:
    return [hit.title for hit in found.search(text, **more).hits]


def marked(hit: Hit) -> list[str]:
    return [hit.passage[start:end] for start, end in hit.marks]


def others(count: int = 30) -> list[KnowledgeDocument]:
    """Documents on other matters, so that words have different frequencies."""
    return [document(f"Other {n}", f"plain story number {n} of weather and sport") for n in range(count)]


def test_a_document_is_found_by_other_forms_of_its_words(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(place, *others(), document("Café", "The naïve generations of chips are running."))
    hit = search.search("cafe naive generation chip run").hits[0]
    assert hit.title == "Café"
    assert marked(hit) == ["naïve", "generations", "chips", "running"]


def test_a_phrase_must_be_there_in_its_order(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(place, document("A", "memory market grows"), document("B", "a market for memory"))
    results = search.search('"memory market"')
    assert [hit.title for hit in results.hits] == ["A"]
    assert marked(results.hits[0]) == ["memory market"]
    assert not results.relaxed


def test_an_excluded_word_excludes_the_whole_document(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    long = "memory " * 240 + "\n\n" + "samsung " * 240
    fill(place, document("long", long), document("short", "memory"))
    assert titles(search, "memory -samsung") == ["short"]
    assert titles(search, "-samsung") == ["short"]


def test_documents_with_all_words_are_before_others(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    some, both = "hbm4 " * 20, "a hbm4 and long words " + "x " * 90 + "zebra"
    fill(place, *others(), document("Some hbm4", some), document("Both", both))
    assert titles(search, "hbm4 zebra")[:2] == ["Both", "Some hbm4"]
    # Words are left out if no document has all.
    fill(place, document("Emu", "emu yields of the plain story"))
    results = search.search("what are the plain emu yields wombat")
    assert results.hits[0].title == "Emu"
    assert results.relaxed


def test_a_title_counts_more_than_a_text_and_context_finds(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    text = "zebra stripes in the plain of africa"
    fill(place, *others(), document("A", text + " quokka"), document("Quokka", text + " animal"))
    fill(place, document("Page", "yields", context="semiconductor shortage"))
    assert titles(search, "quokka") == ["Quokka", "A"]
    assert titles(search, "semiconductor") == ["Page"]


def test_newer_is_first_and_articles_before_rows_and_logs(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(
        place,
        *others(),
        document("old", "quokka one", age=900),
        document("row", "quokka two", kind="search_row"),
        document("new", "quokka three"),
        document("log", "quokka four", kind="workbench"),
    )
    found = titles(search, "quokka")
    assert found.index("new") < found.index("old")
    assert found.index("new") < found.index("row") < found.index("log")


def test_nearly_equal_texts_are_one_hit_but_not_empty_files(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    text = "quokka " + " ".join(f"word{number}" for number in range(240))
    fill(place, *others(), document("One", text), document("Two", text), document("Three", text + " end"))
    results = search.search("quokka")
    assert [hit.copies for hit in results.hits] == [2]
    fill(place, document("emu.png", "", kind="file"), document("emu.pdf", "", kind="file"))
    assert sorted(titles(search, "emu")) == ["emu.pdf", "emu.png"]


def test_an_address_is_one_hit_with_its_article_first(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    url = "https://a.example/page"
    fill(
        place,
        *others(),
        document("row", "quokka price", kind="search_row", url=url),
        document("other row", "quokka costs", kind="search_row", url=url),
        document("article", "a long text of the quokka", url=url),
        document("report", "quokka report", kind="report", url=url),
    )
    hits = {hit.title: hit.more for hit in search.search("quokka").hits}
    assert hits == {"article": 2, "report": 0}
    # What only a row has is found in the row.
    assert titles(search, "quokka price")[0] == "row"


COPPER = "The market was quiet in London. The price of copper stood at {} a tonne on {}, dealers said, as stocks fell."


def test_of_the_versions_of_a_page_the_newest_is_first_and_says_what_an_older_one_said(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    page: dict[str, Any] = {"url": "https://a.example/copper"}
    moved: dict[str, Any] = {"url": "https://a.example/copper?page=1"}
    fill(
        place,
        *others(),
        document("Copper", COPPER.format("$9,450", "Monday"), age=20, path="old", **page),
        document("Copper", COPPER.format("$9,870", "Monday"), age=2, path="new", **page),
        document("Copper", COPPER.format("$9,600", "Monday"), age=9, path="moved", **moved),
        document("Zinc", COPPER.format("$9,870", "Tuesday"), age=9),
    )
    hit = search.search("copper price").hits[0]
    day = datetime.fromtimestamp(NOW - 9 * DAY).astimezone()
    assert (hit.path, hit.more) == ("new", 2)
    assert hit.older.startswith(f"was $9,600 on {day.day} {day:%b}")
    # The older figure is found where it is, and what the page says now is told.
    hit = search.search("9450").hits[0]
    day = datetime.fromtimestamp(NOW - 2 * DAY).astimezone()
    assert (hit.path, hit.older) == ("old", "")
    assert hit.newer.startswith(f"now $9,870 on {day.day} {day:%b}")
    assert search.search("9450", demo=False).hits[0].newer


def test_copies_with_other_figures_are_not_joined(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    words = " ".join(f"word{letter}{other}" for letter in "abcdefghijkl" for other in "mnopqrstuvwx")
    texts = [f"quokka {words} 9,450 tonnes", f"quokka {words} 9,870 tonnes", f"quokka {words}  9,870 tonnes"]
    fill(place, *others(), *[document(f"Page {n}", text) for n, text in enumerate(texts)])
    assert [hit.copies for hit in search.search("quokka").hits] in ([1, 0], [0, 1])


def test_a_number_is_found_however_its_thousands_are_written(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    texts = {"A": "copper at $9,450 a tonne", "B": "Kupfer bei 9.450 Euro", "C": "cuivre, 9 450 euros",
             "D": "copper 9450", "E": "copper 450 and 9"}  # fmt: skip
    fill(place, *others(), *[document(title, text) for title, text in texts.items()])
    for query in ("9450", "9,450", "$9,450", "9.450", '"9 450"'):
        assert sorted(titles(search, query)) == [*"ABCD"], query
        assert sorted(titles(search, query, typing=True)) == [*"ABCD"], query


def test_a_misspelt_word_is_corrected_only_if_no_text_has_it(
    path: Path, file_search: KnowledgeSearch
) -> None:
    fill(path, *others(), document("Quokka", "the quokka population"), document("Other quokkas", "quokak"))
    assert titles(file_search, "quokak") == ["Other quokkas"]
    results = file_search.search("popluation")
    assert [hit.title for hit in results.hits] == ["Quokka"]
    assert "“popluation”" in results.notices[0]
    for text in ("xyz", '"popluation"', "quokkaburrawing"):
        assert titles(file_search, text) == [], text


def test_words_that_say_nothing_are_left_out_unless_there_are_no_others(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(
        place,
        document("Who", "who was it"),
        document("Copper", "copper mines"),
        document("Kupfer", "die kupfer minen"),
    )
    assert titles(search, "what did we learn about the copper") == ["Copper"]
    assert titles(search, "was ist mit dem Kupfer") == ["Kupfer"]
    assert titles(search, "who was") == ["Who"]
    assert titles(search, '"who was" copper') == ["Who"]


def test_words_for_a_time_are_a_filter_that_is_told(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(place, *others(), document("Old", "copper one", age=40), document("New", "copper last year", age=0))
    results = search.search("what did we learn about copper today")
    assert [hit.title for hit in results.hits] == ["New"]
    assert "“today”" in results.notices[0]
    assert titles(search, 'copper "last year"') == ["New"]
    # Nothing is of that time.
    results = search.search("old copper yesterday")
    assert results.hits[0].title == "Old"
    assert results.notices


def test_the_day_of_publication_is_a_filter(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    dates = {"A": "2026-10-03T05:00:00Z", "B": "2026-11-30", "C": "2025", "D": "last Tuesday", "E": ""}
    fill(
        place,
        *[document(title, f"copper {title * 3}", path=title, date=date) for title, date in dates.items()],
    )
    expected = {
        "2026-10..": "AB",
        "2026-10": "A",
        "..2026-10-03": "AC",
        "2026-10-03..2026-10-03": "A",
        "2027..": "",
    }
    for words in ("copper ", ""):
        found = {each: "".join(sorted(titles(search, f"{words}published:{each}"))) for each in expected}
        assert found == expected


def test_figures_near_words_are_listed_the_newest_first(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(
        place,
        *others(),
        document("Copper", COPPER.format("$9,450", "Monday"), age=20, path="old"),
        document(
            "Copper",
            COPPER.format("$9,870", "Monday") + " Zinc cost $7 in 2024.",
            date="2030-01-02",
            path="new",
        ),
        document("Copper mines", "The mines are 12, and 5% more than a year ago.", path="mines"),
    )
    found = figures_near(search, "price of copper").hits
    assert [(each.figure, each.path, each.date[:4]) for each in found][:1] == [("$9,870", "new", "2030")]
    assert [each.figure for each in found] == ["$9,870", "$9,450"]
    for each in found:
        assert each.passage[slice(*each.place)] == each.figure
        assert [each.passage[a:b] for a, b in each.marks] == ["price", "copper"]
        document_ = search.document(each.id)
        assert document_ is not None
        assert document_.text[each.start :].startswith("The price of copper")
    assert [each.figure for each in figures_near(search, "copper mines").hits] == ["12", "5%"]
    assert figures_near(search, "wombat").hits == ()
    # Fewer than half of the words are about something else, and fewer than all of them are told.
    assert figures_near(search, "price of wombat futures in Perth").hits == ()
    some = figures_near(search, "price of wombats")
    assert [each.figure for each in some.hits] == ["$9,870", "$9,450"]
    assert "some of them" in some.notices[0]
    fill(place, document("Draft", "The price of copper was $8.", path="report", kind="report", trust="own"))
    found = figures_near(search, "price of copper").hits
    assert [each.figure for each in found] == ["$9,870", "$9,450", "$8"], "the source is before the report"


def test_a_figure_of_several_sources_is_in_the_place_of_the_newest(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    for day, figure in (("2030-01-01", "$3"), ("2030-01-02", "$4"), ("2030-01-03", "$3")):
        fill(place, document("Copper", COPPER.format(figure, "Monday"), date=day, path=day))
    found = figures_near(search, "price of copper").hits
    assert [(each.figure, each.date) for each in found] == [("$3", "2030-01-03"), ("$4", "2030-01-02")]


def test_one_or_two_typed_letters_are_a_word(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(place, *others(), document("Data", "quokka data"), document("AI", "quokka ai chips"))
    assert [hit.title for hit in search.search("ai", typing=True).hits] == ["AI"]
    assert search.search("d", typing=True).hits == ()
    both = search.search("quokka a", typing=True)
    assert {hit.title for hit in both.hits} == {"Data", "AI"}
    assert not both.relaxed
    assert search.search("quokka dat", typing=True).hits[0].title == "Data"
    # Letters of a word that is not complete are no plural.
    fill(place, document("Kestrel", "a kestrel flies"), document("Keys", "keep the keys", path="keys"))
    for typed in ("kes", "Kest", "kestre"):
        assert [hit.title for hit in search.search(typed, typing=True).hits] == ["Kestrel"], typed


def test_filters(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(
        place,
        document("A", "quokka a", url="https://www.reuters.com/a", tool_use_id="t"),
        document("B", "quokka b", url="https://notreuters.com/reuters.com/", age=40),
        call="mcp__local_toolkit__crawl_parallel",
        title="Chips of today",
    )
    fill(place, document("C", "quokka c", kind="report"), folder="session_2", demo=True)
    fill(place, document("D", "quokka d", url="https://www.theverge.com/d"), folder="/elsewhere/100%")
    expected = {
        "site:reuters.com": "A", "site:https://reuters.com/page": "A", "site:reuters": "A",
        'site:"TheVerge.com" site:www.reuters.com': "AD", "site:verge": "", "kind:report": "C",
        "kind:report,article": "ABCD", "session:chips": "AB", "session:session_2": "C", "session:%": "D",
        "tool:crawl": "A", "since:30d": "ACD", "until:30d": "B",
    }  # fmt: skip
    for words in ("quokka ", ""):
        found = {each: "".join(sorted(titles(search, words + each))) for each in expected}
        assert found == expected, words
    scopes: list[tuple[str, Any, str]] = [
        ("demo", True, "C"), ("demo", False, "ABD"), ("kind", ("report",), "C"), ("site", ("reuters.com",), "A"),
        ("session", "session_1", "AB"), ("without_session", "session_1", "CD"), ("since", NOW - 2 * DAY, "ACD"),
    ]  # fmt: skip
    for name, value, found_ in scopes:
        assert "".join(sorted(titles(search, "quokka", **{name: value}))) == found_, name


def test_a_filter_finds_a_rare_match_among_many_others(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    many = [document(f"Zebra {n}", f"zebra zebra {n}", kind="search_row") for n in range(900)]
    fill(place, document("Rare", "one zebra between many words that are longer", kind="note"), *many)
    assert titles(search, "zebra kind:note") == ["Rare"]


def test_without_words_the_newest_documents_are_found(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(place, document("old", "a", age=9), document("new", "b", age=1), document("middle", "c", age=5))
    assert titles(search, "") == ["new", "middle", "old"]
    assert titles(search, "kind:article", limit=1) == ["new"]


def test_chinese_and_japanese_words_in_sentences_are_found(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(place, document("市場", "今年のメモリ市場は東京で成長しています。"), document("B", "京東は会社です"))
    hit = search.search("東京").hits[0]
    assert (hit.title, marked(hit)) == ("市場", ["東京"])
    assert titles(search, "京東") == ["B"]
    assert titles(search, "東京のメモリ市場は") == ["市場"]
    assert hit.passage == "今年のメモリ市場は東京で成長しています。"


def test_a_finished_word_is_found_while_typing_beside_longer_ones(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(place, document("A", "the memory market"), document("B", "see memorymarkets.example"))
    assert set(titles(search, "memory", typing=True)) == {"A", "B"}


def test_the_last_word_may_be_unfinished_while_typing(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    text = "the next generation brings happiness and connections to semiconductor markets"
    fill(place, *others(), document("A", text))
    for word in ("generation", "happiness", "connections", "brings"):
        for end in range(3, len(word) + 1):
            assert titles(search, word[:end], typing=True) == ["A"], word[:end]
    assert titles(search, "market semicond", typing=True) == ["A"]
    assert titles(search, "semicond") == titles(search, "semicond ", typing=True) == []
    assert titles(search, "半導体市場", typing=True) == []


def test_a_word_that_is_excluded(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(place, document("A", "quokka one"), document("B", "quokka samsung"), document("C", "samsung"))
    assert titles(search, "quokka -samsung") == ["A"]


def test_the_passage_is_cut_around_the_matches(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    text = "alpha " * 100 + "the quokka\n\n smiles " + "omega " * 60
    fill(place, document("A", text))
    hit = search.search("quokka smile").hits[0]
    assert marked(hit) == ["quokka", "smiles"]
    assert "the quokka smiles" in hit.passage
    assert len(hit.passage.split()) <= 40
    assert text[hit.start :].startswith(hit.passage.split("quokka")[0])


def test_a_search_without_time_gives_a_partial_answer(path: Path) -> None:
    fill(path, *others())
    with closing(KnowledgeSearch(path, budget=0, clock=lambda: 0.0)) as search:
        for text in ("weather", "kind:article"):
            assert search.search(text).hits
    # The time counts while the statement runs.
    fill(path, *[document(f"Z{n}", f"zebra {n}") for n in range(2_000)])
    ticks = iter(range(10_000_000))
    with closing(KnowledgeSearch(path, budget=6, clock=lambda: float(next(ticks)))) as search:
        results = search.search("zebra")
    assert results.partial
    assert results.hits


def test_a_stopped_search_gives_nothing_and_threads_may_search(
    place: KnowledgePlace, search: KnowledgeSearch
) -> None:
    fill(place, *others())
    stop = threading.Event()
    stop.set()
    with stoppable(stop):
        results = search.search("weather")
    assert (results.hits, results.partial) == ((), True)
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(lambda _: len(search.search("sport").hits), range(40))] == [20] * 40


def test_what_is_stored_meanwhile_is_found(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    fill(place, *others(1))
    assert titles(search, "quokka") == []
    fill(place, document("New", "quokka"))
    assert titles(search, "quokka") == ["New"]


def test_a_missing_or_new_file_is_opened(path: Path, tmp_path: Path, file_search: KnowledgeSearch) -> None:
    results = file_search.search("quokka")
    assert results.hits == ()
    assert results.notices
    assert file_search.document(1) is None
    assert file_search.sources("https://a.org") == []
    fill(path, document("A", "quokka"))
    assert titles(file_search, "quokka") == ["A"]
    other = tmp_path / "other.db"
    fill(other, document("B", "quokka"))
    os.replace(other, path)
    assert titles(file_search, "quokka") == ["B"]


@pytest.mark.parametrize("begins", [0, 3 * 8192])
def test_a_damaged_file_fails_with_advice(path: Path, file_search: KnowledgeSearch, begins: int) -> None:
    fill(path, *others(300))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(begins)
        file.write(b"\xa5" * (size - begins))
    with pytest.raises(KnowledgeError, match="rebuild"):
        file_search.search("weather")


def test_a_file_of_a_later_version_is_read_if_possible(path: Path, file_search: KnowledgeSearch) -> None:
    fill(path, document("A", "quokka"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    results = file_search.search("quokka")
    assert [hit.title for hit in results.hits] == ["A"]
    assert "later version" in results.notices[0]
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE session RENAME TO conversation")
    with pytest.raises(KnowledgeError, match="later version"):
        file_search.search("quokka")


def test_a_document_and_its_text(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    text = "\n\n".join(f"Paragraph {n}: " + f"word{n} " * 60 for n in range(40)).rstrip()
    fill(place, document("A", text, path="a"), document("B", text, path="b"))
    hit = search.search("word20").hits[0]
    found = search.document(hit.id)
    assert found is not None
    assert found.text == text
    assert search.document(999) is None


def test_the_copies_of_a_page(place: KnowledgePlace, search: KnowledgeSearch) -> None:
    address = "https://a.org/x"
    fill(place, document("Old", "text one", url=address, age=9), document("New", "text two", url=address))
    fill(place, document("Row", "snippet", kind="search_row", url=address), folder="session_2")
    assert [page.title for page in search.sources("HTTPS://A.org:443/x")] == ["New", "Old"]
    assert search.sources("https://a.org/y") == []


HOSTILE = [
    *('"', "*", "NEAR(", "NEAR(a b, 3)", "^", "a:", ":", "(((", "a OR", "AND", "NOT", "-", "--", "title:x", "{a}"),
    *("a\0b", "🎉", "\u202eabc", "\ud800", "x" * 10_000, "word " * 2_000, "東" * 10_000, "the of and"),
    *("' OR 1=1 --", "\x02\x03", '"" ""', "+", "a+b", '-"', "kind:", "site:%_", "session:'", 'tool:"'),
    "since:9999999999d",
    *("".join(f"{name}:a{number} " for number in range(600)) for name in ("site", "session", "tool")),
]  # fmt: skip


@pytest.fixture(scope="module", params=["file", "team"])
def hostile(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KnowledgeSearch]:
    place: KnowledgePlace = tmp_path_factory.mktemp("hostile") / FILE
    cluster: Cluster | None = None
    if request.param == "team":
        cluster = request.getfixturevalue("cluster")
        database = cluster.make_team_database()
        place = Address.parse(database.url)
    fill(place, *others())
    fill(place, *[document(text[:50], text, path=f"h{n}", context=text) for n, text in enumerate(HOSTILE)])
    with closing(KnowledgeSearch(place, budget=60)) as search:
        yield search
    if cluster is not None:
        cluster.drop(database)


@pytest.mark.parametrize("typing", [False, True])
def test_no_text_and_no_number_is_an_error(hostile: KnowledgeSearch, typing: bool) -> None:
    for text in HOSTILE:
        for query in (text, f"weather {text}", f"-{text} weather", f"{text} kind:article"):
            for hit in hostile.search(query, typing=typing).hits:
                assert all(0 <= start < end <= len(hit.passage) for start, end in hit.marks)
    for number in (-(1 << 63), -1, 0, 1 << 63, 1 << 70):
        assert hostile.document(number) is None


@given(
    st.text() | st.lists(st.sampled_from([*HOSTILE, "weather", "story"]), max_size=6).map(" ".join),
    st.booleans(),
)
def test_no_other_text_is_an_error_either(hostile: KnowledgeSearch, text: str, typing: bool) -> None:
    hostile.search(text, typing=typing)
