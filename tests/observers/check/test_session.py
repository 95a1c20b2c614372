from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.bench.knowledge.sessions import invent_sessions, write_session
from tests.observers.check.sessions import REPORT, SEARCH, ReadSession, crawled_page
from tests.packed import pack
from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.claims.records import Source, SourceKind
from ua_tui.core.concurrency.cancellation import Stopped, stoppable
from ua_tui.core.events import types as ev
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE, KnowledgePlace
from ua_tui.core.observation import (
    KnowledgeObservation,
    NativeObservation,
    SubagentObservation,
    WorkbenchObservation,
)
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.toolkit.articles import Article, Reference, article_path, encode_article
from ua_tui.observers.check import session as session_check
from ua_tui.observers.check.session import Sources, check_in_session
from ua_tui.observers.check.session_journal import read_journal
from ua_tui.observers.knowledge.catch_up import index_piece

PAGE = "https://animals.example/otters"
NONE = "This session itself has read no sources."
RUN = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
REDACTOR = Redactor(["planted-secret-value"])


@pytest.fixture
def session(tmp_path: Path) -> ReadSession:
    return ReadSession(tmp_path)


def sources(session: ReadSession) -> Sources:
    found = Sources(b"", REPORT, REDACTOR)
    found.add_session(Root(session.folder), read_journal(session.folder))
    return found


def notices(session: ReadSession) -> list[str]:
    return [*check_in_session(b"<p>9 otters</p>", REPORT, session.folder, REDACTOR).check.notices]


def native(session: ReadSession, tool: str, given: dict[str, str], text: str) -> None:
    """Record a call of a tool of the agent's own."""
    session.call(tool, given, text, kind=NativeObservation)


def of(found: Sources, kind: SourceKind) -> list[Source]:
    return [each for each in found.texts if each.kind == kind]


def texts(found: Sources, kind: SourceKind) -> list[str]:
    return [each.text for each in of(found, kind)]


def checked(folder: Path, report: str, knowledge: KnowledgePlace | None = None) -> ReportCheck:
    return check_in_session(report.encode(), REPORT, folder, REDACTOR, knowledge)


def links(session: ReadSession, *urls: str, knowledge: Path | None = None) -> list[str]:
    """What is known of each address: "read", "found" or "never seen"."""
    report = "".join(f'<p><a href="{url}">here</a></p>' for url in urls)
    found = {
        each.url: each for each in checked(session.folder, report, knowledge).claims if each.kind == "link"
    }
    return [
        "read" if found[url].state == "found" and found[url].was_read else found[url].state for url in urls
    ]


def known(session: ReadSession, url: str) -> str:
    return links(session, url)[0]


def test_a_session_of_the_program_is_read(tmp_path: Path) -> None:
    (invented,) = invent_sessions(1)
    folder = write_session(tmp_path, invented)
    report = "".join(f'<a href="{page.url}">x</a> ' for page in invented.pages)
    check = checked(folder, report)
    by_url = {claim.url: claim for claim in check.claims if claim.kind == "link"}
    for page in invented.pages:
        claim = by_url[page.url]
        assert (claim.state, claim.was_read) == ("found", page.read)
        record = check.sources[claim.passages[0].source]
        assert (record.kind, record.title) == ("article" if page.read else "search_row", page.title)
        assert record.published == f"{page.at:%Y-%m-%d}"
        assert record.tool_use_id
        if page.read:
            assert record.read_at == page.at
    assert check.check.notices == ()
    found = Sources(b"", REPORT, REDACTOR)
    found.add_session(Root(folder), read_journal(folder))
    everything = "\n".join(each.text for each in found.texts)
    assert invented.report_title not in everything
    for page in invented.pages:
        words = page.text if page.read else page.snippet
        assert " ".join(words.split()[:30]) in " ".join(everything.split())


def test_nothing_read_is_a_notice(session: ReadSession) -> None:
    assert not any(each.text for each in sources(session).texts)
    assert notices(session) == ["No source has any text to compare with.", NONE]


def test_what_the_agent_wrote_is_no_source(session: ReadSession) -> None:
    session.crawl((PAGE, "Otters smile at 9 people."))
    session.write(REPORT, "<p>Otters weigh 77 kilograms.</p>")
    session.write("notes.md", "Otters weigh 77 kilograms.")
    session.write("search_results/fake.json", json.dumps({"results": [{"title": "77", "url": PAGE}]}))
    session.write("extracted_articles/fake.json", json.dumps(crawled_page(PAGE, "77 kilograms")))
    logs = ("transcript.md", "run.log", "trace.json")
    for path in (REPORT, "./notes.md", str(session.folder / "notes.md"), *logs):
        session.read(path, "Otters weigh 77 kilograms.")
    session.read("/home/somebody/SAVED_REPORTS/a.html", "Otters weigh 77 kilograms.")
    for path in (
        "report_checks/report.html.json",
        "expanded_corpus.json",
        "work_products/other.md",
        "SAVED_REPORTS/otters.md",
    ):
        (session.folder / path).parent.mkdir(exist_ok=True)
        (session.folder / path).write_text("Otters weigh 77 kilograms.")
        session.read(path, "Otters weigh 77 kilograms.")
    native(session, "Bash", {"command": "cat work_products/report.html"}, "Otters weigh 77 kilograms.")
    session.call(
        "Grep", {"pattern": "Otter"}, "notes.md:1:Otters weigh 77 kilograms.\nfacts.csv:2:Otters eat fish"
    )
    body = "I found out that otters weigh 77 kilograms, as my long report says in its second part."
    session.call("mcp__mail__send_mail", {"body": body}, f"Sent: {body}")
    session.call("Agent", {"prompt": "x"}, "Otters weigh 77 kilograms.", kind=SubagentObservation, agent="a")
    session.answer("Otters weigh 77 kilograms.")
    found = sources(session)
    assert not [each.record for each in found.texts if "77" in each.text]
    assert "facts.csv:2:Otters eat fish" in texts(found, "result")
    assert known(session, PAGE) == "read"


def test_pages_have_their_records(session: ReadSession) -> None:
    use = session.call("mcp__reader__read_url", {"url": PAGE}, "x")
    page = crawled_page(
        PAGE, "Otters smile. The key is planted-secret-value.", author="A. Author", source="The Site"
    )
    session.save("extracted_articles/a.json", page, "article", use)
    (found,) = of(sources(session), "article")
    record = found
    assert (record.title, record.url, record.published) == ("A page", PAGE, "2026-03-01")
    assert (record.author, record.site) == ("A. Author", "The Site")
    assert (record.path, record.tool_use_id) == ("extracted_articles/a.json", "toolu_crawl")
    assert (str(record.read_at), len(record.sha256)) == ("2026-03-10 12:00:30+00:00", 64)
    assert found.text.startswith("A page\n\nOtters smile.")
    assert "planted-secret-value" not in found.text


def test_pages_of_the_crawler_are_read_before_the_observer_has_saved_them(session: ReadSession) -> None:
    path = session.folder / article_path(PAGE)
    path.parent.mkdir()
    link = Reference("more", "https://animals.example/more")
    path.write_text(encode_article(Article(title="Otters", url=PAGE, text="Otters [more].", links=(link,))))
    found = sources(session)
    assert known(session, PAGE) == "read"
    assert known(session, link.url) == "found"
    assert len(of(found, "article")) == 1
    saved = crawled_page(PAGE, "Otters [more].", markdown=article_path(PAGE))
    session.save("extracted_articles/a.json", saved, "article")
    assert len(texts(sources(session), "article")) == 1


def test_a_page_that_was_deleted_was_read_and_is_named(session: ReadSession) -> None:
    (file,) = session.crawl((PAGE, "Otters smile."))
    file.unlink()
    use = session.call("mcp__reader__read_url", {"url": f"{PAGE}/2"}, "Long text")
    session.save("extracted_articles/b.json", crawled_page(f"{PAGE}/2", "Text"), "article", use).unlink()
    assert links(session, PAGE, f"{PAGE}/2") == ["read", "read"]
    found = sources(session)
    assert texts(found, "article") == ["", ""]
    assert found.notices == [f"Not compared, as their text is no longer there: A page, {PAGE}/2."]


def test_a_page_that_was_changed_afterwards_is_not_compared(session: ReadSession) -> None:
    (file,) = session.crawl((PAGE, "Otters smile."))
    file.write_text(json.dumps(crawled_page(PAGE, "Otters weigh 77 kilograms.")))
    session.add(ev.ArtifactChanged(path=f"extracted_articles/{file.name}", kind="article", size=1, sha256=""))
    found = sources(session)
    assert "77" not in "".join(texts(found, "article"))
    assert known(session, PAGE) == "read"
    assert any(file.name in notice for notice in found.notices)


def test_pages_that_could_not_be_read_are_found_at_best(session: ReadSession) -> None:
    other = "https://animals.example/gone"
    session.search({"position": 1, "title": "Otters", "url": PAGE, "snippet": "Otters smile."})
    session.crawl(failed=[(PAGE, "the site answers with 404"), (other, "the site answers with 404")])
    session.crawl(failed=[(PAGE, "the site answers with 404")])
    assert links(session, PAGE, other) == ["found", "never seen"]


@pytest.mark.parametrize("is_error", [True, False])
def test_a_page_that_another_reader_could_not_read_is_found_at_best(
    session: ReadSession, is_error: bool
) -> None:
    answer = 'MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"x"}}"'
    session.call("mcp__zai__webReader", {"url": PAGE}, answer, error=answer if is_error else None)
    assert known(session, PAGE) == "never seen"
    assert texts(sources(session), "result") == []


def test_a_session_whose_folder_was_moved_is_the_same(session: ReadSession, tmp_path: Path) -> None:
    (session.folder / "downloads").mkdir()
    (session.folder / "downloads/data.csv").write_text("otters,9")
    old = session.folder
    session.read(f"{old}/downloads/data.csv", "otters")
    session.write(f"{old}/notes.md", "Otters weigh 77 kilograms.")
    session.read(f"{old}/notes.md", "Otters weigh 77 kilograms.")
    session.folder = old.rename(tmp_path / "moved")
    found = sources(session)
    assert texts(found, "file") == ["| otters | 9 |\n| --- | --- |"]
    assert known(session, f"{old}/downloads/data.csv") == "read"


def test_a_name_that_a_report_has_as_well_hides_no_result(session: ReadSession) -> None:
    session.write("index.html", "<p>77")
    native(session, "WebFetch", {"url": "https://animals.example/index.html"}, "Otters eat 9 fish")
    native(session, "Bash", {"command": "cat index.html"}, "77")
    native(session, "Bash", {"command": "cat old/index.html.txt"}, "Otters eat 12 fish")
    assert texts(sources(session), "result") == ["Otters eat 9 fish", "Otters eat 12 fish"]


def test_rows_panels_answers_and_their_addresses_are_seen(session: ReadSession) -> None:
    extra = {"pdf": "https://animals.example/otters.pdf", "text": "It is a longer text of it."}
    session.search(
        {
            "position": 1, "title": "Otters", "url": PAGE, "date": "2026-02", "snippet": "They smile.",
            "extra": extra,
        },
        answer="Nine animals smile.",
        knowledge_panel={"title": "Otter", "url": "https://wiki.example/Otter", "snippet": "A mammal."},
        query="what of https://asked.example/x",
    )  # fmt: skip
    found = sources(session)
    row = next(each for each in found.texts if each.url == PAGE)
    assert row.text == "Otters\n\nThey smile.\n\nIt is a longer text of it."
    assert (row.part, row.published) == (1, "2026-02")
    assert "Nine animals smile." in texts(found, "search_row")
    urls = (PAGE, extra["pdf"], "https://wiki.example/Otter", "https://asked.example/x")
    assert links(session, *urls) == ["found"] * 3 + ["never seen"]
    assert not any("smiling animals" in each.text for each in found.texts)
    # The result itself says nothing else.
    assert texts(found, "result") == []


def test_the_addresses_of_deleted_searches_are_seen(session: ReadSession) -> None:
    session.search({"position": 1, "title": "Otters", "url": PAGE, "snippet": "They smile."}).unlink()
    (session.folder / "search_results/urls.txt").write_text(f"{PAGE}\n")
    assert known(session, PAGE) == "found"


def test_what_runs_returned_is_a_source_without_their_code(session: ReadSession) -> None:
    use = session.call(RUN, {"code_to_execute": "print(41 + 1)"}, "42", kind=WorkbenchObservation)
    run = {"type": "workbench", "tool_use_id": use, "input": {"code": "x = 77", "thought": "about 77"},
           "output": {"stdout": "answer 42", "stderr": "x = 77"}}  # fmt: skip
    session.save("workbench_activity/w.json", run, "workbench_activity", use)
    found = sources(session)
    assert texts(found, "run") == ["answer 42"]
    assert not any("77" in each.text + each.title for each in found.texts)


def test_results_of_other_tools_are_sources_as_a_person_reads_them(session: ReadSession) -> None:
    mail = {
        "messages": [{"subject": "Otters", "body": "They “smile”\nat 9 people", "size": 12.5, "read": True}]
    }
    use = session.call("mcp__mail__list_messages", {"folder": "in"}, json.dumps({"data": json.dumps(mail)}))
    session.call("mcp__mail__broken", {}, "77", error="no")
    session.call("TodoWrite", {}, "77", kind=NativeObservation)
    found = sources(session)
    (result,) = of(found, "result")
    assert result.text == "subject: Otters\nbody: They “smile”\nat 9 people\nsize: 12.5"
    assert (result.tool_use_id, result.title) == (use, "list_messages")


def test_a_large_result_is_read_from_its_file(session: ReadSession) -> None:
    (session.folder / "tool_results").mkdir()
    stored = "tool_results/big.json.zst"
    (session.folder / stored).write_bytes(pack(json.dumps([{"type": "text", "text": "whole: 42"}]).encode()))
    session.call("mcp__data__rows", {}, "preview", stored_at=stored, truncated=True)
    session.call("mcp__data__rows", {}, "other preview", stored_at="../outside.json", truncated=True)
    assert texts(sources(session), "result") == ["whole: 42", "other preview"]


def test_of_several_tools_in_one_call_only_searches_are_left_out(session: ReadSession) -> None:
    tools = [
        {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {}},
        {"tool_slug": "GMAIL_FETCH", "arguments": {}},
    ]
    use = session.call(SEARCH, {"tools": tools}, '{"mail": "Otters smile at 9 people"}')
    session.save("search_results/a.json", {"results": []}, "search_results", use)
    assert texts(sources(session), "result") == ["mail: Otters smile at 9 people"]


def test_the_knowledge_base_gives_back_what_was_found_and_not_what_was_written(session: ReadSession) -> None:
    hits = [{"trust": "own", "passage": "written 77"}, {"trust": "web", "passage": "found 42"}]
    tool = "mcp__local_toolkit__knowledge_search"
    session.call(tool, {"query": "x"}, json.dumps({"hits": hits}), kind=KnowledgeObservation)
    session.call(tool, {"query": "x"}, json.dumps({"trust": "own", "text": "77"}), kind=KnowledgeObservation)
    assert texts(sources(session), "result") == ["trust: web\npassage: found 42"]


def test_files_that_the_agent_read_are_sources(session: ReadSession) -> None:
    (session.folder / "downloads").mkdir()
    (session.folder / "downloads/data.csv").write_text("otters,9\nseals,12\n")
    (session.folder / "downloads/page.html").write_text("<title>T</title><p>Nine &amp; more</p>")
    session.read("downloads/data.csv", "otters,9")
    session.read(str(session.folder / "downloads/page.html"), "x")
    native(session, "Read", {"file_path": "/data/facts.txt"}, "     1→otters 9\n     2→seals 12")
    found = sources(session)
    page = "<title>T</title><p>Nine &amp; more</p>"
    assert {each.title: (each.text, each.media_type) for each in of(found, "file")} == {
        "data.csv": ("| otters | 9 |\n| --- | --- |\n| seals | 12 |", "text/markdown"),
        "page.html": (page, "text/html"),
        "facts.txt": ("otters 9\nseals 12", "text/plain"),
    }  # fmt: skip
    assert known(session, "../downloads/data.csv") == "read"


def test_files_that_a_person_added_are_sources_or_noticed(session: ReadSession) -> None:
    (session.folder / "attachments").mkdir()
    files = []
    for name, data in (("facts.txt", b"otters 9"), ("facts.pdf", b"%PDF-1.7\0\0")):
        path = session.folder / "attachments" / name
        path.write_bytes(data)
        files.append(ev.AttachedFile(path=f"attachments/{name}", media_type="x/y", size=1, sha256=""))
    session.add(ev.FilesAttached(query_id="q1", files=files))
    found = sources(session)
    assert texts(found, "file") == ["otters 9"]
    assert found.notices == ["Not compared, as no text can be read from them: attachments/facts.pdf."]


def test_addresses_that_a_person_wrote_are_found_and_those_that_only_the_agent_named_never_seen(
    session: ReadSession,
) -> None:
    tool, answer = "mcp__local_toolkit__knowledge_sources", json.dumps({"url": PAGE, "hits": []})
    session.call(tool, {"url": PAGE}, answer, kind=KnowledgeObservation)
    assert known(session, PAGE) == "never seen"
    session.add(ev.QuerySteered(query_id="q1", text=f"Look at {PAGE} as well"))
    assert known(session, PAGE) == "found"


def test_a_reader_that_was_redirected_has_read_both_addresses(session: ReadSession) -> None:
    use = session.call("mcp__reader__read_url", {"url": "https://short.example/o"}, "text")
    saved = crawled_page(PAGE, "Otters smile.", tool_use_id=use)
    session.save("extracted_articles/r.json", saved, "article", use)
    assert links(session, "https://short.example/o", PAGE) == ["read", "read"]


def test_a_page_that_was_only_redirected_elsewhere_was_not_read(session: ReadSession) -> None:
    notice = f"REDIRECT DETECTED: The URL redirects to another location.\n\nRedirect URL: {PAGE}"
    native(session, "WebFetch", {"url": "https://short.example/o"}, notice)
    assert links(session, "https://short.example/o", PAGE) == ["never seen", "found"]


def test_a_page_that_the_crawler_was_redirected_to_is_read_at_both_addresses(session: ReadSession) -> None:
    final = "https://animals.example/otters-2026"
    path = session.folder / article_path(PAGE)
    path.parent.mkdir()
    path.write_text(encode_article(Article(title="Otters", url=PAGE, final_url=final, text="Otters smile.")))
    assert links(session, final, PAGE) == ["read", "read"]
    saved = crawled_page(PAGE, "Otters smile.", markdown=article_path(PAGE))
    session.save("extracted_articles/a.json", saved, "article")
    assert links(session, final, PAGE) == ["read", "read"]


def test_compressed_artifacts_are_read(session: ReadSession) -> None:
    data = pack(json.dumps(crawled_page(PAGE, "Otters smile.")).encode())
    session.save("extracted_articles/a.json.zst", data, "article")
    found = sources(session)
    assert known(session, PAGE) == "read"
    assert found.texts[0].path == "extracted_articles/a.json.zst"


def test_a_session_is_read_as_far_as_its_journal_goes_and_else_from_its_files(session: ReadSession) -> None:
    session.crawl((PAGE, "Otters smile."))
    with open(session.folder / JOURNAL, "ab") as file:
        file.write(b'{"event":"query_received","seq":9,"a\n\xff\x00\n{"event":"tool_call_finished","tool_use')
    assert known(session, PAGE) == "read"
    (session.folder / JOURNAL).unlink()
    found = sources(session)
    assert known(session, PAGE) == "read"
    assert found.notices == ["The journal of the session could not be read: it has no journal."]


def test_damaged_and_hostile_files_are_notices(session: ReadSession, tmp_path: Path) -> None:
    (page,) = session.crawl((PAGE, "Otters smile."))
    folder = page.parent
    (folder / "a.json.zst").write_bytes(b"not compressed")
    (folder / "b.json").write_bytes(b"\0" * 100)
    (folder / "c.json").write_text("[" * 100_000)
    (folder / "d.json").write_text('{"url": 7, "title": [], "content": {"a": "b"}}')
    os.mkfifo(folder / "e.json")
    (folder / "f.json").symlink_to(tmp_path / "outside.json")
    (tmp_path / "outside.json").write_text(json.dumps(crawled_page("https://outside.example/", "Outside.")))
    (folder / "g.json").mkdir()
    with open(folder / "h.json", "wb") as file:
        file.write(b'{"url":"https://long.example/","title":"Long","content":"')
        file.truncate(50 << 20)
    found = sources(session)
    assert [each.url for each in found.texts if each.kind == "article"] == [PAGE]
    assert "a.json.zst" in found.notices[0]
    assert known(session, "https://outside.example/") == "never seen"


def test_the_sources_are_bounded(session: ReadSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_check, "LARGEST", 100)
    session.crawl(*((f"{PAGE}/{number}", "Otters smile at you.") for number in range(20)))
    found = sources(session)
    assert 1 <= len(found.texts) < 20
    assert sum(len(each.text) for each in found.texts) <= 100
    assert "were compared: together they are too long" in found.notices[0]


def test_a_folder_that_is_missing_is_a_notice(tmp_path: Path) -> None:
    check = checked(tmp_path / "missing", "<p>9 otters</p>")
    assert check.sources == ()
    assert any(notice.startswith("The sources could not be read: ") for notice in check.check.notices)


def test_reading_stops(session: ReadSession) -> None:
    session.crawl((PAGE, "Otters smile."))
    stop = threading.Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        check_in_session(b"<p>9 otters</p>", REPORT, session.folder, REDACTOR, None)


def test_a_call_without_its_beginning_is_read(session: ReadSession) -> None:
    session.add(ev.ToolCallStarted(query_id="q1", tool_use_id="t", name="x", input={"a": [1, {"b": None}]}))
    session.add(ev.ToolCallFinished(tool_use_id="unknown", status="success"))
    assert notices(session)[1:] == [NONE]


@pytest.fixture
def earlier(tmp_path: Path) -> ReadSession:
    """An earlier session that read a page, and that the knowledge base has."""
    found = ReadSession(tmp_path, "session_20260301_080000")
    found.crawl((PAGE, "Otters smiled then. The key is planted-secret-value."))
    with open_store(tmp_path / WORKSPACES / FILE) as store:
        while index_piece(store, found.folder, Redactor()):
            pass
    return found


def test_the_answer_of_a_search_without_rows_is_a_source_without_its_heading(session: ReadSession) -> None:
    text = 'no rows\ntool: SEARCH 77\ntool_use_id: t\n\n{"about": "Otters weigh 9 kilograms: planted-secret-value"}'
    session.save("search_results/unparsed/a.txt", text, "unparsed", "t")
    (found,) = of(sources(session), "result")
    assert "Otters weigh 9 kilograms" in found.text
    assert "77" not in found.text
    assert "planted-secret-value" not in found.text
    assert (found.title, found.tool_use_id, found.was_read) == ("Answer to a search", "t", False)


@pytest.mark.parametrize("url", [PAGE, "http://www.animals.example/otters/?utm_source=x#y"])
def test_pages_of_earlier_sessions_are_found(session: ReadSession, earlier: ReadSession, url: str) -> None:
    database = session.folder.parent / FILE
    assert known(session, url) == "never seen"
    assert links(session, url, knowledge=database) == ["read"]
    check = checked(session.folder, f'<p><a href="{url}">Otters smiled then</a></p>', database)
    (record,) = check.sources
    assert (record.kind, record.session) == ("earlier", earlier.folder.name)
    assert str(record.read_at) == "2026-03-10 12:00:30+00:00"
    assert "planted-secret-value" not in check.claims[0].passages[0].text


def test_the_sessions_own_pages_and_deleted_ones_are_not_earlier(
    earlier: ReadSession, session: ReadSession
) -> None:
    database = session.folder.parent / FILE
    assert not any(each.kind == "earlier" for each in checked(earlier.folder, PAGE, database).sources)
    (page,) = checked(session.folder, PAGE, database).sources
    (earlier.folder / page.path).unlink()
    urls = [PAGE, "https://new.example/", "https://long.example/" + "x" * 100_000]
    assert links(session, *urls, knowledge=database) == ["never seen"] * 3


def test_without_a_knowledge_base_nothing_is_earlier(session: ReadSession, tmp_path: Path) -> None:
    assert links(session, PAGE, knowledge=tmp_path / "missing.db") == ["never seen"]
    assert not (tmp_path / "missing.db").exists()


def test_a_knowledge_base_that_cannot_be_read_is_a_notice(session: ReadSession, tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no database at all" * 1_000)
    notices = checked(session.folder, f"<p>{PAGE}</p>", tmp_path / "damaged.db").check.notices
    assert any(notice.startswith("What earlier sessions read is unknown: ") for notice in notices)


def test_a_team_without_its_extra_is_a_notice_if_a_link_is_looked_up(
    session: ReadSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ua_tui.core.knowledge.postgres.store", None)
    team = Address.parse("postgresql://nobody@127.0.0.1:1/none")
    notice = "What earlier sessions read is unknown: "
    for report, expected in ((f"<p>{PAGE}</p>", True), ("<p>9 otters</p>", False)):
        notices = checked(session.folder, report, team).check.notices
        assert any(each.startswith(notice) for each in notices) is expected


@pytest.fixture
def with_files(session: ReadSession, tmp_path: Path) -> ReadSession:
    for name in ("downloads/data 1.csv", "work_products/media/chart.png", "work_products/report.html"):
        (session.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (session.folder / name).write_text("price,9")
    (tmp_path / "outside.txt").write_text("secret")
    (session.folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (session.folder / "linked").symlink_to(tmp_path)
    return session


LOCAL = ["media/chart.png", "work_products/media/chart.png?v=2#x", "../downloads/data%201.csv", "report.html"]
OUTSIDE = [
    "%2e%2e/%2e%2e/outside.txt", "/etc/passwd", "link.txt", "../linked/outside.txt",
    "missing.csv", "a" * 5_000, "..",
]  # fmt: skip


@pytest.mark.parametrize("urls", [LOCAL, OUTSIDE])
def test_local_links_lead_to_files_of_the_session_only(with_files: ReadSession, urls: Sequence[str]) -> None:
    expected = "read" if urls is LOCAL else "never seen"
    assert links(with_files, *urls) == [expected] * len(urls)


def test_a_cited_file_is_a_source_unless_it_is_the_agents_own(with_files: ReadSession) -> None:
    report = '<a href="../downloads/data%201.csv">x</a> <a href="media/chart.png">y</a> <a href="../link.txt">z</a>'
    assert [(each.kind, each.path) for each in checked(with_files.folder, report).sources] == [
        ("file", "downloads/data 1.csv")
    ]
