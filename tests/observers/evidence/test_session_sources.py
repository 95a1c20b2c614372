from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.bench.knowledge.sessions import invent_sessions, write_session
from tests.observers.evidence.sessions import REPORT, SEARCH, ReadSession, crawled_page
from ua_tui.core.concurrency.cancellation import Stop, Stopped
from ua_tui.core.events import types as ev
from ua_tui.core.evidence.records import SourceKind, Verdict
from ua_tui.core.knowledge.index.database_file import FILE
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.observation import (
    KnowledgeObservation,
    NativeObservation,
    SubagentObservation,
    WorkbenchObservation,
)
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import pack
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.toolkit.articles import Article, Reference, article_path, encode_article
from ua_tui.observers.evidence import session_sources
from ua_tui.observers.evidence.earlier import earlier_pages
from ua_tui.observers.evidence.session_sources import read_sources
from ua_tui.observers.evidence.sources import Sources
from ua_tui.observers.knowledge.catch_up import index_piece

PAGE = "https://animals.example/otters"
NONE = "This session itself has read no sources."
RUN = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"


@pytest.fixture
def session(tmp_path: Path) -> ReadSession:
    return ReadSession(tmp_path)


def sources(session: ReadSession, report: str = REPORT) -> Sources:
    return read_sources(session.folder, Redactor(["planted-secret-value"]), report)


def native(session: ReadSession, tool: str, given: dict[str, str], text: str) -> None:
    """Record a call of a tool of the agent's own."""
    session.call(tool, given, text, kind=NativeObservation)


def texts(found: Sources, kind: SourceKind) -> list[str]:
    return [each.text for each in found.texts if each.record.kind == kind]


def test_a_session_of_the_program_is_read(tmp_path: Path) -> None:
    (invented,) = invent_sessions(1)
    folder = write_session(tmp_path, invented)
    report = next((folder / "work_products").iterdir()).relative_to(folder).as_posix()
    found = read_sources(folder, Redactor(), report)
    assert [each.number for each in found.texts] == list(range(len(found.texts)))
    for page in invented.pages:
        verdict, source, _ = found.verdict(page.url)
        assert verdict is (Verdict.READ if page.read else Verdict.SEEN)
        assert source is not None
        kind = "article" if page.read else "search_row"
        assert (source.record.kind, source.record.title) == (kind, page.title)
        words = page.text if page.read else page.snippet
        assert " ".join(words.split()[:30]) in " ".join(source.text.split())
        assert source.record.published == f"{page.at:%Y-%m-%d}"
        assert source.record.tool_use_id
        if page.read:
            assert source.record.read_at == page.at
    assert found.notices == ()
    everything = "\n".join(each.text for each in found.texts)
    assert invented.report_title not in everything


def test_nothing_read_is_a_notice(session: ReadSession) -> None:
    found = sources(session)
    assert texts(found, "query") == ["Which animals smile?"]
    assert found.notices == (NONE,)


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
    for path in ("report_checks/report.html.json", "expanded_corpus.json", "work_products/other.md"):
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
    assert found.verdict(PAGE)[0] is Verdict.READ


def test_pages_have_their_records(session: ReadSession) -> None:
    (file,) = session.crawl((PAGE, "Otters smile. The key is planted-secret-value."))
    (page,) = [each for each in sources(session).texts if each.record.kind == "article"]
    record = page.record
    assert (record.title, record.url, record.published) == ("A page", PAGE, "2026-03-01")
    assert (record.path, record.tool_use_id) == (f"extracted_articles/{file.name}", "toolu_1")
    assert (str(record.read_at), len(record.sha256)) == ("2026-03-10 12:00:30+00:00", 64)
    assert page.text.startswith("A page\n\nOtters smile.")
    assert "planted-secret-value" not in page.text


def test_pages_of_the_crawler_are_read_before_the_observer_has_saved_them(session: ReadSession) -> None:
    path = session.folder / article_path(PAGE)
    path.parent.mkdir()
    link = Reference("more", "https://animals.example/more")
    path.write_text(encode_article(Article(title="Otters", url=PAGE, text="Otters [more].", links=(link,))))
    found = sources(session)
    assert found.verdict(PAGE)[0] is Verdict.READ
    assert found.verdict(link.url)[0] is Verdict.SEEN
    saved = crawled_page(PAGE, "Otters [more].", markdown=article_path(PAGE))
    session.save("extracted_articles/a.json", saved, "article")
    assert len(texts(sources(session), "article")) == 1


def test_a_page_that_was_deleted_was_read(session: ReadSession) -> None:
    (file,) = session.crawl((PAGE, "Otters smile."))
    file.unlink()
    use = session.call("mcp__reader__read_url", {"url": f"{PAGE}/2"}, "Long text")
    session.save("extracted_articles/b.json", crawled_page(f"{PAGE}/2", "Text"), "article", use).unlink()
    found = sources(session)
    for url in (PAGE, f"{PAGE}/2"):
        verdict, source, note = found.verdict(url)
        assert verdict is Verdict.READ
        assert source is not None
        assert (source.record.gone, source.text, note) == (True, "", "Its text is no longer there.")


def test_a_page_that_was_changed_afterwards_is_not_compared(session: ReadSession) -> None:
    (file,) = session.crawl((PAGE, "Otters smile."))
    file.write_text(json.dumps(crawled_page(PAGE, "Otters weigh 77 kilograms.")))
    session.add(ev.ArtifactChanged(path=f"extracted_articles/{file.name}", kind="article", size=1, sha256=""))
    found = sources(session)
    assert "77" not in "".join(texts(found, "article"))
    assert found.verdict(PAGE)[1].record.gone  # type: ignore[union-attr]
    assert any(file.name in notice for notice in found.notices)


def test_pages_that_could_not_be_read_are_seen_at_best(session: ReadSession) -> None:
    other = "https://animals.example/gone"
    session.search({"position": 1, "title": "Otters", "url": PAGE, "snippet": "Otters smile."})
    session.crawl(failed=[(PAGE, "the site answers 404"), (other, "the site answers 404")])
    found = sources(session)
    assert found.verdict(PAGE)[::2] == (Verdict.SEEN, "It could not be read: the site answers 404.")
    assert found.verdict(other) == (Verdict.INVENTED, None, "It could not be read: the site answers 404.")


@pytest.mark.parametrize("is_error", [True, False])
def test_a_page_that_another_reader_could_not_read_is_seen_at_best(
    session: ReadSession, is_error: bool
) -> None:
    answer = 'MCP error -500: 500 Internal Server Error: "{"error":{"code":"1234","message":"x"}}"'
    session.call("mcp__zai__webReader", {"url": PAGE}, answer, error=answer if is_error else None)
    found = sources(session)
    assert found.verdict(PAGE)[0] is Verdict.INVENTED
    assert found.verdict(PAGE)[2].startswith("It could not be read: ")
    assert texts(found, "result") == []


def test_a_session_whose_folder_was_moved_is_the_same(session: ReadSession, tmp_path: Path) -> None:
    (session.folder / "downloads").mkdir()
    (session.folder / "downloads/data.csv").write_text("otters,9")
    old = session.folder
    session.read(f"{old}/downloads/data.csv", "otters")
    session.write(f"{old}/notes.md", "Otters weigh 77 kilograms.")
    session.read(f"{old}/notes.md", "Otters weigh 77 kilograms.")
    session.folder = old.rename(tmp_path / "moved")
    found = sources(session)
    assert texts(found, "file") == ["otters,9"]
    assert found.verdict(f"file://{old}/downloads/data.csv")[0] is Verdict.LOCAL


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
    row = found.cited(PAGE)[0]
    assert row.text == "Otters\n\nThey smile.\n\nIt is a longer text of it."
    assert (row.record.part, row.record.published) == (1, "2026-02")
    assert "Nine animals smile." in texts(found, "search_row")
    for url in (PAGE, extra["pdf"], "https://wiki.example/Otter"):
        assert found.verdict(url)[0] is Verdict.SEEN
    assert not any("smiling animals" in each.text for each in found.texts)
    # The result itself says nothing else.
    assert texts(found, "result") == []


def test_the_addresses_of_deleted_searches_are_seen(session: ReadSession) -> None:
    session.search({"position": 1, "title": "Otters", "url": PAGE, "snippet": "They smile."}).unlink()
    (session.folder / "search_results/urls.txt").write_text(f"{PAGE}\n")
    assert sources(session).verdict(PAGE)[0] is Verdict.SEEN


def test_what_runs_returned_is_a_source_without_their_code(session: ReadSession) -> None:
    use = session.call(RUN, {"code_to_execute": "print(41 + 1)"}, "42", kind=WorkbenchObservation)
    run = {"type": "workbench", "tool_use_id": use, "input": {"code": "x = 77", "thought": "about 77"},
           "output": {"stdout": "answer 42", "stderr": "x = 77"}}  # fmt: skip
    session.save("workbench_activity/w.json", run, "workbench_activity", use)
    found = sources(session)
    assert texts(found, "run") == ["answer 42"]
    assert not any("77" in each.text + each.record.title for each in found.texts)


def test_results_of_other_tools_are_sources_as_a_person_reads_them(session: ReadSession) -> None:
    mail = {
        "messages": [{"subject": "Otters", "body": "They “smile”\nat 9 people", "size": 12.5, "read": True}]
    }
    use = session.call("mcp__mail__list_messages", {"folder": "in"}, json.dumps({"data": json.dumps(mail)}))
    session.call("mcp__mail__broken", {}, "77", error="no")
    session.call("TodoWrite", {}, "77", kind=NativeObservation)
    found = sources(session)
    (result,) = [each for each in found.texts if each.record.kind == "result"]
    assert result.text == "subject: Otters\nbody: They “smile”\nat 9 people\nsize: 12.5"
    assert (result.record.tool_use_id, result.record.title) == (use, "list_messages")


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
    assert {each.record.title: each.text for each in found.texts if each.record.kind == "file"} == {
        "data.csv": "otters,9\nseals,12", "page.html": "T\n\nNine & more", "facts.txt": "otters 9\nseals 12",
    }  # fmt: skip
    assert found.verdict("../downloads/data.csv")[0] is Verdict.LOCAL
    assert found.cited("../downloads/data.csv")[0].text == "otters,9\nseals,12"
    assert found.verdict("file:///data/facts.txt")[0] is Verdict.READ


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
    assert found.notices == ("Not compared, as no text can be read from them: attachments/facts.pdf.",)


def test_addresses_of_queries_are_seen_and_those_that_only_the_agent_named_invented(
    session: ReadSession,
) -> None:
    tool, answer = "mcp__local_toolkit__knowledge_sources", json.dumps({"url": PAGE, "hits": []})
    session.call(tool, {"url": PAGE}, answer, kind=KnowledgeObservation)
    assert sources(session).verdict(PAGE)[0] is Verdict.INVENTED
    session.add(ev.QuerySteered(query_id="q1", text=f"Look at {PAGE} as well"))
    assert sources(session).verdict(PAGE)[::2] == (Verdict.SEEN, "Named in what you wrote.")


def test_a_reader_that_was_redirected_has_read_both_addresses(session: ReadSession) -> None:
    use = session.call("mcp__reader__read_url", {"url": "https://short.example/o"}, "text")
    saved = crawled_page(PAGE, "Otters smile.", tool_use_id=use)
    session.save("extracted_articles/r.json", saved, "article", use)
    found = sources(session)
    assert found.cited("https://short.example/o") == found.cited(PAGE) != []


def test_a_page_that_the_crawler_was_redirected_to_is_read_at_both_addresses(session: ReadSession) -> None:
    final = "https://animals.example/otters-2026"
    path = session.folder / article_path(PAGE)
    path.parent.mkdir()
    path.write_text(encode_article(Article(title="Otters", url=PAGE, final_url=final, text="Otters smile.")))
    before = sources(session)
    saved = crawled_page(PAGE, "Otters smile.", markdown=article_path(PAGE))
    session.save("extracted_articles/a.json", saved, "article")
    for found in (before, sources(session)):
        assert found.verdict(final)[0] is Verdict.READ
        assert found.cited(final) == found.cited(PAGE)


def test_compressed_artifacts_are_read(session: ReadSession) -> None:
    data = pack(json.dumps(crawled_page(PAGE, "Otters smile.")).encode())
    session.save("extracted_articles/a.json.zst", data, "article")
    found = sources(session)
    assert found.verdict(PAGE)[0] is Verdict.READ
    assert found.texts[0].record.path == "extracted_articles/a.json.zst"


def test_a_session_is_read_as_far_as_its_journal_goes_and_else_from_its_files(session: ReadSession) -> None:
    session.crawl((PAGE, "Otters smile."))
    with open(session.folder / JOURNAL, "ab") as file:
        file.write(b'{"event":"query_received","seq":9,"a\n\xff\x00\n{"event":"tool_call_finished","tool_use')
    assert sources(session).verdict(PAGE)[0] is Verdict.READ
    (session.folder / JOURNAL).unlink()
    found = sources(session)
    assert found.verdict(PAGE)[0] is Verdict.READ
    assert found.notices == ("The journal of the session could not be read: it holds no journal.",)


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
    assert [each.record.url for each in found.texts if each.record.kind == "article"] == [PAGE]
    assert "a.json.zst" in found.notices[0]
    assert found.verdict("https://outside.example/")[0] is Verdict.INVENTED


def test_the_sources_are_bounded(session: ReadSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_sources, "LARGEST", 100)
    session.crawl(*((f"{PAGE}/{number}", "Otters smile at you.") for number in range(20)))
    found = sources(session)
    assert 1 <= len(found.texts) < 20
    assert sum(len(each.text) for each in found.texts) <= 100
    assert "were compared: all together are too long" in found.notices[-1]


def test_a_folder_that_is_missing_is_a_notice(tmp_path: Path) -> None:
    found = read_sources(tmp_path / "missing", Redactor(), REPORT)
    assert (found.texts, len(found.notices)) == ((), 1)


def test_reading_stops(session: ReadSession) -> None:
    session.crawl((PAGE, "Otters smile."))
    stop = Stop()
    stop.set()
    with pytest.raises(Stopped):
        read_sources(session.folder, Redactor(), REPORT, None, stop)


def test_a_call_without_its_beginning_is_read(session: ReadSession) -> None:
    session.add(ev.ToolCallStarted(query_id="q1", tool_use_id="t", name="x", input={"a": [1, {"b": None}]}))
    session.add(ev.ToolCallFinished(tool_use_id="unknown", status="success"))
    assert sources(session).notices == (NONE,)


@pytest.fixture
def earlier(tmp_path: Path) -> ReadSession:
    """An earlier session that read a page, and that the knowledge base has."""
    found = ReadSession(tmp_path, "session_20260301_080000")
    found.crawl((PAGE, "Otters smiled then. The key is planted-secret-value."))
    with KnowledgeStore(tmp_path / WORKSPACES / FILE) as store:
        while index_piece(store, found.folder, Redactor()).more:
            pass
    return found


@pytest.mark.parametrize("url", [PAGE, "http://www.animals.example/otters/?utm_source=x#y"])
def test_pages_of_earlier_sessions_are_found(session: ReadSession, earlier: ReadSession, url: str) -> None:
    database = session.folder.parent / FILE
    redactor = Redactor(["planted-secret-value"])
    found = read_sources(session.folder, redactor, REPORT, earlier_pages(database, session.folder, redactor))
    assert found.verdict(url)[0] is Verdict.INVENTED
    found.look_up([url])
    verdict, source, note = found.verdict(url)
    assert verdict is Verdict.EARLIER
    assert note == "Read on 10 March 2026 by session_20260301_080000."
    assert source is not None
    assert (source.record.kind, source.record.session) == ("earlier", earlier.folder.name)
    assert "Otters smiled then." in source.text
    assert "planted-secret-value" not in source.text


def test_the_sessions_own_pages_and_deleted_ones_are_not_earlier(
    earlier: ReadSession, session: ReadSession
) -> None:
    database = session.folder.parent / FILE
    own = earlier_pages(database, earlier.folder)
    other = earlier_pages(database, session.folder)
    assert own is not None
    assert other is not None
    assert own([PAGE]) == [None]
    (page,) = other([PAGE])
    assert page is not None
    (earlier.folder / page.record.path).unlink()
    assert other([PAGE, "https://new.example/", "x" * 100_000]) == [None, None, None]


def test_without_a_knowledge_base_nothing_is_earlier(session: ReadSession, tmp_path: Path) -> None:
    assert earlier_pages(None, session.folder) is None
    missing = earlier_pages(tmp_path / "missing.db", session.folder)
    assert missing is not None
    assert missing([PAGE]) == [None]
    assert not (tmp_path / "missing.db").exists()
