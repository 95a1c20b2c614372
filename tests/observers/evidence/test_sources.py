from __future__ import annotations

import string
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.evidence.records import Source, SourceKind, Verdict
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.observers.evidence.addresses import address_key, addresses_in, key_is_in
from ua_tui.observers.evidence.session.journal import SessionJournal
from ua_tui.observers.evidence.session.local_files import LocalFiles
from ua_tui.observers.evidence.sources import EarlierPage, Sources, SourceText
from ua_tui.observers.knowledge.cleaning import Cleaner

PAGE = "https://chips.example/story/3"


def text(
    kind: SourceKind, url: str = "", words: str = "Some words.", number: int = 0, **more: object
) -> SourceText:
    return SourceText(number, Source(kind=kind, url=url, **more), words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        "http://chips.example/story/3", "https://www.chips.example/story/3/",
        "HTTPS://Chips.Example:443/story/3#part", "https://chips.example/story/3?utm_source=mail&fbclid=4",
        "https://chips.example/story/3?utm_source=a&amp;utm_medium=b", "https://chips.example/%73tory/3",
        "https://chips.example./story/3", "//chips.example/story/3", "www.chips.example/story/3",
        "  https://chips.example/story/3\n",
    ],
)  # fmt: skip
def test_spellings_of_an_address_are_the_same_page(other: str) -> None:
    page = text("article", PAGE)
    sources = Sources([page])
    assert sources.cited(other) == [page]
    assert sources.verdict(other) == (Verdict.READ, page, "")


@pytest.mark.parametrize(
    "other",
    [
        "https://chips.example/story/33", "https://chips.example/story",
        "https://chips.example/story/3?page=2", "https://chips.example/story%2F3",
        "https://chips-group.example/story/3", "https://chips.example.evil.example/story/3",
        "https://chips.example@evil.example/story/3", "ftp://chips.example/story/3",
        "https://chips.example/story/3" + "a" * 100_000, "https://[chips.example/story/3", "",
    ],
)  # fmt: skip
def test_other_addresses_are_invented(other: str) -> None:
    sources = Sources([text("article", PAGE, f"Read on at {PAGE}, of course.")])
    assert sources.cited(other) == ()
    assert sources.verdict(other)[:2] == (Verdict.INVENTED, None)


def test_encoded_letters_and_brackets_are_the_same_address() -> None:
    plain = "https://de.wiki.example/wiki/Grüße_(Brief)?q=a b"
    assert address_key(plain) == address_key(
        "https://de.wiki.example/wiki/Gr%C3%BC%C3%9Fe_%28Brief%29?q=a%20b"
    )
    assert address_key("https://münchen.example/a") == address_key("https://xn--mnchen-3ya.example/a")


@given(st.text(max_size=60), st.text(string.ascii_letters + "%/?&=#.:@[]", max_size=60))
def test_any_text_has_a_key_that_does_not_change(anything: str, rest: str) -> None:
    assert address_key(anything) == address_key(f" {anything} ")
    key = address_key(f"https://host.example/{rest}")
    assert address_key(f"https://host.example/{rest}#end") == key


def test_the_page_comes_before_rows_and_results() -> None:
    row, page, gone = text("search_row", PAGE), text("article", PAGE), text("article", PAGE, "", gone=True)
    assert Sources([row, page]).cited(PAGE) == [page]
    assert Sources([row]).cited(PAGE) == [row]
    assert Sources([row]).verdict(PAGE) == (Verdict.SEEN, row, "")
    assert Sources([gone, row]).verdict(PAGE) == (Verdict.READ, gone, "Its text is no longer there.")
    assert Sources([gone, page]).verdict(PAGE)[1] is page


@pytest.mark.parametrize(
    "words",
    [
        f"See {PAGE}.", f"See [the story]({PAGE}) and others.", f"(see <{PAGE}>)",
        '{"link":"https:\\/\\/chips.example\\/story\\/3"}', "See chips.example/story/3, please.",
        "WWW.CHIPS.EXAMPLE/story/3",
    ],
)  # fmt: skip
def test_an_address_in_a_text_was_seen(words: str) -> None:
    page = text("article", "https://other.example/", words, title="Links")
    assert Sources([page]).verdict(PAGE) == (Verdict.SEEN, page, "Named in “Links”.")
    assert Sources([page]).cited(PAGE) == ()


def test_addresses_that_the_agent_gave_to_a_tool_are_not_seen_in_its_result() -> None:
    result = text("result", "", f"Nothing is known of {PAGE}")
    assert Sources([result], asked={0: frozenset({address_key(PAGE)})}).verdict(PAGE)[0] is Verdict.INVENTED
    assert Sources([result], named={0: [PAGE]}).verdict(PAGE)[0] is Verdict.SEEN


def test_the_first_page_of_a_known_site_is_not_invented() -> None:
    page = text("article", PAGE)
    verdict, source, note = Sources([page]).verdict("https://www.chips.example/")
    assert (verdict, source) == (Verdict.SEEN, page)
    assert "first page" in note


def test_a_failed_page_is_seen_at_best() -> None:
    failures = {address_key(PAGE): "404 Not Found"}
    row = text("search_row", PAGE)
    note = "It could not be read: 404 Not Found."
    assert Sources([row], failures=failures).verdict(PAGE) == (Verdict.SEEN, row, note)
    assert Sources(failures=failures).verdict(PAGE) == (Verdict.INVENTED, None, note)


def test_an_address_from_which_a_page_was_redirected_is_read() -> None:
    page = text("article", PAGE)
    sources = Sources([page], others={address_key("https://short.example/x"): [0]})
    assert sources.verdict("http://short.example/x/")[:2] == (Verdict.READ, page)


def test_pages_of_earlier_sessions_become_sources_once() -> None:
    asked: list[str] = []
    read_at = datetime(2026, 11, 3, 9, tzinfo=UTC)
    record = Source(kind="earlier", url=PAGE, session="session_1", read_at=read_at)

    def earlier(urls: Sequence[str]) -> Sequence[EarlierPage | None]:
        asked.extend(urls)
        return [EarlierPage(record, "Old words.") if PAGE in url else None for url in asked]

    read, row = text("article", "https://a.example/1"), text("search_row", PAGE, number=1)
    sources = Sources([read, row], earlier=earlier)
    urls = [f"{PAGE}#top", PAGE, "https://a.example/1", "https://new.example/", "notes.txt"]
    sources.look_up(urls)
    assert asked == [PAGE, "https://new.example/"]
    verdict, source, note = sources.verdict(PAGE)
    assert (verdict, note) == (Verdict.EARLIER, "Read on 3 November 2026 by session_1.")
    assert source is not None
    assert (source.number, source.text) == (2, "Old words.")
    assert sources.texts[2] is source
    assert sources.cited(PAGE) == [source]
    assert sources.verdict("https://new.example/")[0] is Verdict.INVENTED


def test_a_knowledge_base_that_cannot_be_read_is_a_notice() -> None:
    def earlier(_urls: Sequence[str]) -> Sequence[EarlierPage | None]:
        raise KnowledgeError("it is damaged")

    sources = Sources(notices=("One.",), earlier=earlier)
    sources.look_up([PAGE])
    assert sources.verdict(PAGE)[0] is Verdict.INVENTED
    assert sources.notices == ("One.", "What earlier sessions have read is not known: it is damaged.")


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    folder = tmp_path / "session"
    for name in ("downloads/data 1.csv", "work_products/media/chart.png", "work_products/a/b.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("price,9")
    (tmp_path / "outside.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "linked").symlink_to(tmp_path)
    root = Root(folder)
    return LocalFiles(root, "work_products/a/b.html", SessionJournal([str(folder)]), Cleaner(Redactor()))


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("../media/chart.png", "work_products/media/chart.png"),
        ("work_products/media/chart.png?v=2#x", "work_products/media/chart.png"),
        ("../../downloads/data%201.csv", "downloads/data 1.csv"),
        ("downloads/data 1.csv", "downloads/data 1.csv"),
        ("b.html", "work_products/a/b.html"),
    ],
)
def test_local_links_lead_to_files_of_the_session(files: LocalFiles, url: str, path: str) -> None:
    assert files.find(url) == path
    sources = Sources(files=files)
    assert sources.verdict(url) == (Verdict.LOCAL, None, "")
    for given_url in (f"file://{files._root.path}/{path}", f"{files._root.path}/{path}"):
        assert files.find(given_url) == path


@pytest.mark.parametrize(
    "url",
    [
        "../../../outside.txt", "%2e%2e/%2e%2e/%2e%2e/outside.txt", "/etc/passwd", "file:///etc/passwd",
        "file://host.example/etc/passwd", "link.txt", "linked/outside.txt", "downloads", "downloads/\0",
        "downloads\\data 1.csv", "missing.csv", "c:/x", "a" * 100_000, "..", "",
    ],
)  # fmt: skip
def test_nothing_outside_of_the_session_is_a_file_of_it(files: LocalFiles, url: str) -> None:
    assert files.find(url) is None
    assert files.source(url) is None
    assert Sources(files=files).verdict(url)[0] is Verdict.INVENTED


def test_a_cited_file_is_a_source_unless_it_is_the_agents_own(files: LocalFiles) -> None:
    sources = Sources(files=files)
    sources.look_up(["../../downloads/data%201.csv", "downloads/data 1.csv", "../media/chart.png"])
    (found,) = sources.texts
    assert (found.record.kind, found.record.path, found.text) == ("file", "downloads/data 1.csv", "price,9")
    assert sources.cited("downloads/data 1.csv") == [found]
    assert sources.verdict("downloads/data 1.csv")[:2] == (Verdict.LOCAL, found)


def test_addresses_end_where_a_reader_ends_them() -> None:
    words = (
        'See https://a.example/x_(y)), "https://b.example/1". https://c.example/ü，or https://d.example/z…'
    )
    found = set(addresses_in(words))
    assert {
        "https://a.example/x_(y)", "https://b.example/1", "https://c.example/ü", "https://d.example/z",
    } <= found  # fmt: skip


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("at a.example/b.", True), ("www.a.example/b", True), ("a.example/b/", True),
        ("https://a.example/b/c", False), ("data.example/b", False), ("x@a.example/b", False),
        ("a.example/bc", False), ("sub.a.example/b", False), ("a.example/b?c=1", False),
    ],
)  # fmt: skip
def test_an_address_without_a_scheme_is_found_whole(words: str, named: bool) -> None:
    assert key_is_in("a.example/b", words) is named
