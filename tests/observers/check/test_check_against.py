from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.observers.check.sessions import ReadSession, crawled_page
from tests.observers.check.sources import states
from tests.packed import pack
from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.toolkit.articles import Article, article_path, encode_article
from ua_tui.observers.check import session
from ua_tui.observers.check.session import check_against

PAGE = "https://animals.example/otters"
REPORT = f"The otters of the bay weigh 77 kilograms, says [a page]({PAGE})."
TEXT = "The otters of the bay weigh 77 kilograms."


def against(*sources: Path, report: str = REPORT) -> ReportCheck:
    return check_against(report.encode(), "report.md", sources, Redactor(["planted-secret-value"]))


def written(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", f"<title>T</title><p>{TEXT}</p>"), ("a.md", f"# T\n\n{TEXT}"), ("a.txt", TEXT),
        ("a.md.zst", pack(TEXT.encode())), ("a.csv", "otters,weight (kilograms)\n\"of the bay\",77"),
        ("a.json", json.dumps(crawled_page(PAGE, TEXT))), ("a.txt", TEXT.encode("utf-16")),
    ],
)  # fmt: skip
def test_files_of_each_format_are_compared(tmp_path: Path, name: str, text: str | bytes) -> None:
    found = against(written(tmp_path / name, text))
    assert states(found.claims)["77 kilograms"] == "found"
    assert found.sources[0].path == str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", f'<title>T</title><link rel="canonical" href="{PAGE}"><p>{TEXT}</p>'),
        ("a.html", f'<head><meta property="og:url" content="{PAGE}"></head><p>{TEXT}</p>'),
        ("a.md", f"Source: {PAGE}\n\n{TEXT}"), ("a.json", json.dumps(crawled_page(PAGE, TEXT))),
        (article_path(PAGE), encode_article(Article(title="Otters", url=PAGE, text=TEXT))),
    ],
)  # fmt: skip
def test_a_file_that_states_its_address_was_read_there(tmp_path: Path, name: str, text: str) -> None:
    found = against(written(tmp_path / name, text))
    assert states(found.claims)["a page"] == "found"
    assert found.sources[0].url == PAGE
    other = against(tmp_path / name, report="See [it](https://other.example/).")
    assert states(other.claims) == {"it": "never seen"}


def test_links_are_not_looked_at_if_no_file_states_its_address(tmp_path: Path) -> None:
    found = against(written(tmp_path / "a.txt", TEXT))
    assert [each.state for each in found.claims if each.kind == "link"] == ["not looked at"]
    assert found.check.notices == ("Links were not checked: the given files do not state their addresses.",)


def test_folders_are_read_without_links_and_hidden_files(tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    written(folder / "deep/b.md", "More otters: 12 of them.")
    written(folder / "a.txt", f"{TEXT} The key is planted-secret-value.")
    written(folder / "picture.png", b"\x89PNG\0\0")
    written(folder / ".hidden.txt", "77")
    (folder / "link.txt").symlink_to(written(tmp_path / "outside.txt", "Outside."))
    os.mkfifo(folder / "pipe.txt")
    found = against(folder)
    assert [each.path for each in found.sources] == [str(folder / "a.txt"), str(folder / "deep/b.md")]
    assert "picture.png" in found.check.notices[0]
    assert "planted-secret-value" not in str(found)


def test_a_report_is_no_source_of_itself(tmp_path: Path) -> None:
    session = ReadSession(tmp_path, "session_20260310_120000")
    session.crawl((PAGE, "The otters of the bay sleep."))
    session.write("work_products/a.md", REPORT)
    written(tmp_path / "SAVED_REPORTS/report.md", REPORT)
    written(tmp_path / "report_checks/report.md.json", json.dumps({"sentence": TEXT}))
    written(tmp_path / ".git/x.md", TEXT)
    found = against(tmp_path)
    assert states(found.claims) == {"a page": "found", "77 kilograms": "not found"}
    assert [each.kind for each in found.sources if each.kind != "result"] == ["article"]


def test_the_folder_of_a_session_is_what_it_read(tmp_path: Path) -> None:
    recorded = ReadSession(tmp_path)
    recorded.crawl((PAGE, TEXT))
    recorded.write("notes.md", "The otters of the bay have 1,200 friends.")
    found = against(recorded.folder, report=f"{REPORT} The otters of the bay have 1,200 friends.")
    assert states(found.claims) == {"a page": "found", "77 kilograms": "found", "1,200": "not found"}
    assert [each.kind for each in found.sources] == ["article", "result"]


def test_sessions_that_read_nothing_are_named_once(tmp_path: Path) -> None:
    for number in range(5):
        ReadSession(tmp_path, f"session_20260310_12000{number}").write("notes.md", "Nothing.")
    found = against(tmp_path, written(tmp_path / "a.txt", TEXT))
    first = ", ".join(f"session_20260310_12000{number}" for number in range(3))
    assert f"Not compared, as no text can be read from them: {first} and 2 more." in found.check.notices
    assert not any("has read no sources" in each for each in found.check.notices)


@pytest.mark.parametrize(
    ("name", "content"),
    [("missing.md", None), ("a.png", b"\0\0"), ("a.pdf", b"%PDF-1.7 damaged"), ("empty", "")],
)
def test_sources_without_a_text_are_an_error_that_names_them(
    tmp_path: Path, name: str, content: str | bytes | None
) -> None:
    if name == "empty":
        (tmp_path / name).mkdir()
    elif content is not None:
        written(tmp_path / name, content)
    with pytest.raises(WorkspaceError, match=name):
        against(tmp_path / name)


def test_a_damaged_file_is_an_error_and_in_a_folder_a_notice(tmp_path: Path) -> None:
    damaged = written(tmp_path / "s/a.md.zst", b"not compressed")
    written(tmp_path / "s/b.md", TEXT)
    with pytest.raises(WorkspaceError, match=r"a\.md\.zst cannot be read"):
        against(damaged)
    found = against(tmp_path / "s")
    assert states(found.claims)["77 kilograms"] == "found"
    assert "a.md.zst" in found.check.notices[0]


def test_the_sources_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        written(tmp_path / f"s/{number}.txt", f"{TEXT} {number}")
    monkeypatch.setattr(session, "_MOST_GIVEN", 3)
    found = against(tmp_path / "s")
    assert len(found.sources) == 3
    assert f"Only the first 3 of 5 files of {tmp_path / 's'} were compared." in found.check.notices
    monkeypatch.setattr(session, "LARGEST", 100)
    assert len(against(tmp_path / "s").sources) == 2


def test_a_large_source_is_compared_to_its_bound(tmp_path: Path) -> None:
    large = written(tmp_path / "large.txt", TEXT + "\n\n" + "x" * 2_100_000)
    found = against(large)
    assert states(found.claims)["77 kilograms"] == "found"
    assert "Only the beginning of large.txt was compared: it is too long." in found.check.notices


def test_a_list_of_numbers_is_no_number_that_no_float_holds(tmp_path: Path) -> None:
    hostile = written(tmp_path / "a.md", f"{TEXT}\n\n" + "1 percent " * 50)
    found = against(hostile, report="figures " + " ".join(map(str, range(100, 400))))
    assert {claim.state for claim in found.claims} <= {"not found", "not looked at"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("name", ["report.html", "report.txt"])
def test_a_report_in_another_encoding_is_read(tmp_path: Path, name: str, encoding: str) -> None:
    written(tmp_path / "a.md", TEXT)
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    found = check_against(f"{mark}{TEXT}".encode(encoding), name, [tmp_path / "a.md"], Redactor())
    assert states(found.claims) == {"77 kilograms": "found"}


def test_a_report_without_a_text_is_a_notice(tmp_path: Path) -> None:
    written(tmp_path / "a.md", TEXT)
    found = check_against(b"<div><b>" * 50_000 + b"<p>77", "report.html", [tmp_path / "a.md"], Redactor())
    assert found.claims == ()
    assert "The report has no text that can be read." in found.check.notices
