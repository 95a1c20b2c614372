"""Reports, sources and checks that are laid as traps: the program checks and exports them, and obeys none."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.evidence.files import check_path
from core.text import clean
from tests.e2e.chromium import BROWSER, browser
from tests.e2e.running import Finished, environment, run
from tests.e2e.test_hostile import ESCAPES, KEY, MARKUP
from tests.e2e.test_past_sessions import state
from tests.observers.evidence.sessions import ReadSession

pytestmark = pytest.mark.e2e

PAGE = "https://cats.example/power"
TEXT = "Data centres in Croatia used 41 percent of the power in 2025, said the operator in Zagreb on Monday."
REPORT = f'<p>Data centres in Croatia used 57 percent of the power in 2025 (<a href="{PAGE}">Cats</a>).</p>'
PASSWORD = "hunter2-7f3a9c"


def hostile_session(base: Path) -> ReadSession:
    """A session whose pages, searches and failures are all written by an enemy."""
    session = ReadSession(base)
    evil = f"{ESCAPES} {MARKUP} <script>alert(1)</script> {KEY}"
    address = f"https://user:{PASSWORD}@evil.example/{ESCAPES}"
    session.crawl((PAGE, TEXT), (address, evil * 50), failed=[("https://gone.example/", evil)])
    session.crawl(("https://long.example/", "1 percent " * 5_000), ("https://digest.example/", "C" * 300_000))
    session.search({"title": evil, "link": address, "snippet": evil, "date": evil})
    return session


def ran(base: Path, *args: str) -> Finished:
    """Run the program with a secret; what it says is harmless whatever it read."""
    done = run(base, *args, env=environment(base, ANTHROPIC_API_KEY=KEY))
    for said in (done.stdout, done.stderr):
        assert clean(said) == said
        assert "Traceback" not in said
        assert KEY not in said
        assert PASSWORD not in said
    return done


def test_hostile_reports_are_checked_and_change_nothing(tmp_path: Path) -> None:
    session = hostile_session(tmp_path)
    folder = session.folder / "work_products"
    evil = f"{REPORT} {ESCAPES} {MARKUP} <p>He said “{ESCAPES} all of it {MARKUP}” and {KEY} was 12 percent."
    reports = {
        "utf16.html": evil.encode("utf-16"),
        "latin1.html": evil.encode("latin-1", "replace"),
        "nul.txt": evil.replace(" ", "\0").encode(),
        "line.txt": b"Cats used 57 percent of the power and " * 130_000,
        "word.md": b"> " + b"a" * 300_000 + REPORT.encode(),
        "nested.html": b"<div><b>" * 50_000 + REPORT.encode(),
        "links.md": "".join(f"[{n}](https://e{n}.example/) " for n in range(50_000)).encode(),
        "figures.md": " ".join(f"{n} percent" for n in range(50_000)).encode(),
        "a\x1b]0;PWNED\x07 [red]\u202eb.md": evil.encode(),
        "empty.md": b"",
    }
    for name, data in reports.items():
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "folder.md").mkdir()
    before = state(session.folder)
    for name in reports:
        done = ran(tmp_path, "check", str(folder / name))
        assert done.code in {0, 1}, (name, done.stderr)
        assert "Compared with" in done.stdout
        assert len(done.stdout) < 10_000_000
    for name in ("pipe.md", "loop.md", "folder.md", "missing.md"):
        done = ran(tmp_path, "check", str(folder / name))
        assert (done.code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    done = ran(tmp_path, "check", str(folder / "utf16.html"), "--all", "--json")
    assert any(claim["text"] == "57 percent" for claim in json.loads(done.stdout)["claims"])
    assert state(session.folder) == before


def test_observers_write_no_check_through_what_lies_in_its_place(tmp_path: Path) -> None:
    session = hostile_session(tmp_path)
    outside = tmp_path / "outside.json"
    outside.write_text("untouched")
    names = ("linked", "pipe", "folder", "planted")
    for name in names:
        session.write(f"work_products/{name}.html", REPORT)
    checks = session.folder / "report_checks"
    checks.mkdir()
    (checks / "linked.html.json").symlink_to(outside)
    os.mkfifo(checks / "pipe.html.json")
    (checks / "folder.html.json").mkdir()
    (checks / "planted.html.json").write_text(planted(REPORT, "work_products/planted.html"))
    done = ran(tmp_path, "observe", "--session", str(session.folder))
    assert done.code == 1
    for name in ("linked", "pipe", "folder"):
        assert sum(f"report_checks/{name}.html.json" in line for line in done.stderr.splitlines()) == 1
    assert outside.read_text() == "untouched"
    found = json.loads((checks / "planted.html.json").read_text())
    assert [claim["verdict"] for claim in found["claims"] if claim["text"] == "57 percent"] == ["untraced"]
    assert "PWNED" not in json.dumps(found["claims"])


def planted(report: str, path: str, address: str = PAGE) -> str:
    """A check as an agent would write it to be believed."""
    evil = f"{ESCAPES}{MARKUP}<img src='{address}'><script src='{address}'></script>{KEY}"
    start = report.index("57 percent")
    evidence = [
        {"source": number, "start": -1, "end": 1 << 62, "passage": evil, "marks": [[-5, 1 << 62], [3, 1]]}
        for number in (0, -1, 1 << 40)
    ]
    texts = {"text": "57 percent", "sentence": evil, "section": evil, "note": evil, "url": evil}
    claims = [
        {
            "id": number,
            "kind": "figure",
            "verdict": "traced",
            "start": at,
            "end": at + 10,
            "evidence": evidence,
        }
        | texts
        for number, at in enumerate((start, -9, 1 << 60), 1)
    ]
    source = {"kind": "article", "title": evil, "url": f"javascript:{evil}", "path": "../../etc/passwd",
              "published": evil, "sha256": evil, "read_at": "0001-01-01T00:00:00+14:00"}  # fmt: skip
    return json.dumps(
        {"version": 1, "report": path, "sha256": hashlib.sha256(report.encode()).hexdigest(), "title": evil,
         "notices": [evil], "claims": claims, "sources": [source]}
    )  # fmt: skip


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_an_export_of_a_planted_check_is_harmless_in_a_browser(tmp_path: Path) -> None:
    session = hostile_session(tmp_path)
    with listening() as (address, asked):
        report = (
            f"{REPORT}<img src='{address}'><script src='{address}'></script><iframe src='{address}'></iframe>"
            f"<style>@import '{address}';</style><meta http-equiv=refresh content='0;url={address}'>{KEY}"
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
            assert clean(text) == text
            assert KEY not in text
            assert PASSWORD not in text
            assert "57 percent" in text
        assert "traced" in text
        (tmp_path / "probe.html").write_text(f"<img src='{address}'>")
        shown(tmp_path, "export.html")
        assert asked == []
        shown(tmp_path, "probe.html")
        assert asked


def shown(base: Path, name: str) -> None:
    """Show a page in a browser that finds nothing but this machine."""
    url = (base / name).as_uri()
    command = browser(base / "profile", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--virtual-time-budget=2000")
    done = subprocess.run(
        [*command, "--dump-dom", url],
        env={**os.environ, "HOME": str(base)}, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert b"</html>" in done.stdout


@contextmanager
def listening() -> Iterator[tuple[str, list[bytes]]]:
    """An address of this machine, and what is asked there."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    asked.append(connection.recv(4096))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x.png", asked
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)
