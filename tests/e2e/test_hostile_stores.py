"""Reports, checks, a knowledge base and past sessions that are traps: they are read, and never obeyed or changed.

What needs no agent and no terminal is run in this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.chromium import BROWSER
from tests.e2e.hostile import (
    DOWN,
    END,
    ENTER,
    ESC,
    ESCAPES,
    HOME,
    KEY,
    MARKUP,
    RIGHT,
    UNSAFE,
    assert_harmless,
    leave,
    press,
)
from tests.e2e.running import Finished, command
from tests.e2e.terminal import TRACE, WORKSPACE, terminal
from tests.e2e.test_browser import listening, loaded
from tests.many_sessions import lay_sessions
from tests.observers.check.sessions import ReadSession
from tests.observers.knowledge.recorded import Recorded, database_of
from ua_tui.core.claims.files import check_path
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.observers.check import figure_claims, link_claims

PAGE = "https://cats.example/power"
TEXT = "Data centres in Croatia used 41 percent of the power in 2025, said the operator in Zagreb on Monday."
REPORT = f'<p>Data centres in Croatia used 57 percent of the power in 2025 (<a href="{PAGE}">Cats</a>).</p>'
PASSWORD = "hunter2-7f3a9c"
HUGE = 2 << 30


def ran(base: Path, *args: str) -> Finished:
    """Run a command with a secret; what it says is harmless whatever it read."""
    done = command(base, *args, ANTHROPIC_API_KEY=KEY)
    for said in (done.stdout, done.stderr):
        assert not UNSAFE.search(said)
        assert not any(each in said for each in ("Traceback", KEY, PASSWORD))
    return done


def state(folder: Path) -> list[tuple[str, int, int]]:
    """Every file below a folder, with its size and when it was changed; not the locks of readers of a database."""
    found = [
        (path, path.lstat()) for path in sorted([folder, *folder.rglob("*")]) if path.suffix != ".db-shm"
    ]
    return [(str(path), each.st_size, each.st_mtime_ns) for path, each in found]


def hostile_session(base: Path) -> ReadSession:
    """A session whose pages, searches and failures are all written by an enemy."""
    session = ReadSession(base)
    evil = f"{ESCAPES} {MARKUP} <script>alert(1)</script> {KEY}"
    address = f"https://user:{PASSWORD}@evil.example/{ESCAPES}"
    session.crawl((PAGE, TEXT), (address, evil * 50), failed=[("https://gone.example/", evil)])
    session.crawl(("https://long.example/", "1 percent " * 5_000), ("https://digest.example/", "C" * 300_000))
    session.search({"title": evil, "link": address, "snippet": evil, "date": evil})
    return session


@pytest.mark.slow
def test_hostile_reports_are_checked_and_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of them takes a while, and the reports have many times as many.
    monkeypatch.setattr(figure_claims, "_MOST", 500)
    monkeypatch.setattr(figure_claims, "_MOST_CLOSE", 30)
    monkeypatch.setattr(link_claims, "_MOST", 300)
    session = hostile_session(tmp_path)
    folder = session.folder / "work_products"
    evil = f"{REPORT} {ESCAPES} {MARKUP} <p>He said “{ESCAPES} all of it {MARKUP}” and {KEY} was 12 percent."
    reports = {
        "utf16.html": evil.encode("utf-16"),
        "latin1.html": evil.encode("latin-1", "replace"),
        "nul.txt": evil.replace(" ", "\0").encode(),
        "line.txt": b"Cats used 57 percent of the power and " * 40_000,
        "word.md": b"> " + b"a" * 300_000 + REPORT.encode(),
        "nested.html": b"<div><b>" * 50_000 + REPORT.encode(),
        "links.md": "".join(f"[{n}](https://e{n}.example/) " for n in range(20_000)).encode(),
        "figures.md": " ".join(f"{n} percent" for n in range(20_000)).encode(),
        "a\x1b]0;PWNED\x07 [red]\u202eb.md": evil.encode(),
        "empty.md": b"",
    }
    for name, data in reports.items():
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "folder.md").mkdir()
    before = state(session.folder)
    assert "is not text" in ran(tmp_path, "check", str(folder / "nul.txt")).stderr
    for name in {*reports} - {"nul.txt"}:
        done = ran(tmp_path, "check", str(folder / name))
        is_without_text = name in {"nested.html", "empty.md"}
        assert done.code in ({2} if is_without_text else {0, 1}), (name, done.stderr)
        assert ("Compared with" in done.stdout) != is_without_text
        is_cut = name in {"line.txt", "figures.md", "links.md"}
        assert ("Only the first " in done.stdout) == is_cut, name
    for name in ("pipe.md", "loop.md", "folder.md", "missing.md"):
        done = ran(tmp_path, "check", str(folder / name))
        assert (done.code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    done = ran(tmp_path, "check", str(folder / "utf16.html"), "--json")
    assert any(claim["quote"]["exact"] == "57 percent" for claim in json.loads(done.stdout)[0]["claims"])
    assert state(session.folder) == before


def test_an_observer_replaces_a_check_that_the_agent_has_written(tmp_path: Path) -> None:
    session = hostile_session(tmp_path)
    session.write("work_products/planted.html", REPORT)
    check = session.folder / "report_checks" / "planted.html.json"
    check.parent.mkdir()
    check.write_text(planted(REPORT, "work_products/planted.html"))
    assert ran(tmp_path, "observe", "--session", str(session.folder)).code == 0
    found = json.loads(check.read_text())
    claims = found["check"]["claims"]
    assert [claim["state"] for claim in claims if claim["quote"]["exact"] == "57 percent"] == ["differs"]
    assert "PWNED" not in json.dumps(claims)


def planted(report: str, path: str, address: str = PAGE) -> str:
    """A check as an agent would write it to be believed."""
    evil = f"{ESCAPES}{MARKUP}<img src='{address}'><script src='{address}'></script>{KEY}"
    quote = {"exact": "57 percent", "prefix": evil, "suffix": evil}
    passages = [{"source": 0, "text": evil, "headers": evil, "quote": {"exact": "PWNED", "prefix": evil}}]
    claim = {"kind": "figure", "quote": quote, "sentence": evil, "section": evil, "note": evil, "url": evil,
             "instead": evil, "formula": evil, "passages": passages}  # fmt: skip
    claims = [claim | {"state": state} for state in ("differs", "found", "calculated", "never seen")]
    source = {"kind": "article", "title": evil, "url": f"javascript:{evil}", "path": "../../etc/passwd", "author": evil,
              "site": evil, "published": evil, "sha256": evil, "read_at": "0001-01-01T00:00:00+14:00"}  # fmt: skip
    return json.dumps(
        {"version": 2, "report": path, "sha256": hashlib.sha256(report.encode()).hexdigest(), "sources": [source],
         "check": {"title": evil, "notices": [evil], "claims": claims}}
    )  # fmt: skip


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_an_export_of_a_planted_check_is_harmless_in_a_browser(tmp_path: Path) -> None:
    session = hostile_session(tmp_path)
    address = "http://evil.example/x.png"
    with listening() as listener:
        report = (
            f"{REPORT}<img src='{address}'><script src='{address}'></script><iframe src='{address}'></iframe>"
            f"<style>@import '{address}';</style><meta http-equiv=refresh content='0;url={address}'>"
        )
        path = "work_products/planted.html"
        session.write(path, report)
        file = session.folder / check_path(path)
        file.parent.mkdir()
        file.write_text(planted(report, path, address))
        for form in ("html", "md", "json"):
            done = ran(tmp_path, "export", session.folder.name, "--format", form, "-o", f"export.{form}")
            assert done.code == 0, done.stderr
            text = (tmp_path / f"export.{form}").read_text()
            assert not UNSAFE.search(text)
            assert KEY not in text
            assert PASSWORD not in text
            assert "57 percent" in text
        assert "never seen" in text
        (tmp_path / "probe.html").write_text(f"<img src='{address}'>")
        loaded((tmp_path / "export.html").as_uri(), listener, tmp_path / "profile")
        assert listener.heard == []
        loaded((tmp_path / "probe.html").as_uri(), listener, tmp_path / "another-profile")
        assert listener.fetched == {"x.png"}


def test_a_hostile_knowledge_base_is_found_in_and_not_changed(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.write_report("quokka", f"# Quokka {ESCAPES} {MARKUP}\n\nQuokkas smile {ESCAPES} {MARKUP}")
    recorded.write_report("numbat", "Numbats eat termites. " * 500_000)
    assert ran(tmp_path, "knowledge", "update").code == 0
    assert "PWNED" in ran(tmp_path, "find", "quokkas").stdout
    (hit,) = json.loads(ran(tmp_path, "find", "numbats", "--json").stdout)["hits"]
    assert "numbat.md" in json.dumps(hit)
    database = database_of(tmp_path)
    assert database.stat().st_size < 20 << 20
    long = ("quokka " * 1_500, "x" * 10_000, "site:a " * 1_500)
    for query in ('NEAR("a" OR', '" AND * ^ {title}: (', *long, ESCAPES):
        assert ran(tmp_path, "find", "--", query).code in (0, 1)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def lay_traps(sessions: Path) -> None:
    """Put down what a session's folder must not be, and a folder with all that must not lie in one."""
    one, three, four, seven = (sessions / f"session_20261001_00000{n}" for n in "1347")
    for folder in (one, three, four, seven):
        folder.mkdir(parents=True)
    os.mkfifo(sessions / "session_20261001_000008")
    (sessions / "session_20261001_000010").symlink_to("/etc")
    (sessions / "session_20261001_000011").symlink_to("session_20261001_000011")
    (one / "journal.jsonl").write_bytes(b"")
    (one / "trace.json").mkdir()
    os.mkfifo(one / "run.log")
    sparse(one / "report.html")
    (one / "up").symlink_to("..")
    (one / "loop.md").symlink_to("loop.md")
    (one / f"{MARKUP[:30].replace('/', '')}\x1b]0;PWNED\x07.json").write_text(ESCAPES)
    sparse(three / "journal.jsonl")
    os.mkfifo(four / "journal.jsonl")
    (seven / "journal.jsonl").symlink_to("/proc/self/mem")


def torn(sessions: Path) -> Path:
    """A session whose journal is torn in the middle and at its end, with what steers a terminal in it."""
    (whole,) = lay_sessions(sessions.parent, 1)
    folder = sessions / "session_20261001_000020"
    shutil.move(whole, folder)
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    half = lines[5][: len(lines[5]) // 2]
    lines[5:5] = [half + b"\n", b"\x00\xff\xfe{[\n", ESCAPES.encode() + b"\n", b"[" * 90_000 + b"\n"]
    (folder / "journal.jsonl").write_bytes(b"".join(lines) + lines[-1][:40])
    return folder


@pytest.mark.slow
def test_sessions_that_are_traps_are_shown_and_never_changed(tmp_path: Path) -> None:
    sessions = tmp_path / WORKSPACES
    lay_traps(sessions)
    folder = torn(sessions)
    before = state(sessions)
    # The torn one gives what is readable, and the list of the others shows them.
    with terminal(tmp_path, "open", os.fspath(folder), columns=160, rows=50) as screen:
        screen.wait_for("past session", "4 lines of its journal are damaged", "its journal was cut")
        press(screen, TRACE, END + ENTER)
        assert_harmless(screen)
        press(screen, ESC, WORKSPACE, "t", "t")
        screen.wait_for("session_20261001_000007", "session_20261001_000001")
        # Neither links nor pipes are sessions.
        assert not any(f"session_20261001_0000{n}" in screen.text for n in ("08", "10", "11"))
        press(screen, END, RIGHT)
        screen.wait_for("loop.md", "report.html", "trace.json")
        for _ in range(9):
            press(screen, f"{DOWN}po", ENTER)
            if "Esc close" in screen.text:
                press(screen, END + "m")
                # The first one may stop work that is still going on.
                screen.press_until(ESC, lambda text: "Esc close" not in text)
        press(screen, HOME, *(RIGHT + DOWN + DOWN,) * 4)
        leave(screen)
        assert screen.restored
    assert state(sessions) == before
