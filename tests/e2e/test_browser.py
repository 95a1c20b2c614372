"""What a browser is given for a hostile report: opened from the real program, loaded in a real browser."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.e2e.chromium import BROWSER, browser
from tests.e2e.running import DEADLINE, environment
from tests.e2e.terminal import WORKSPACE, terminal
from tests.many_sessions import lay_sessions
from tests.waiting import PATIENCE

FETCHED_FROM_THE_ORIGINAL = (
    "script svg-script onload onerror beacon socket form refresh frame srcdoc object embed image srcset source lazy"
    " body table svg-image foreign video poster audio input-image style-link css-import css-escaped css-attribute"
    " font icon manifest preload modulepreload prefetch mutated-1 mutated-3 mutated-4 after-textarea"
)
LOADS = 9
"""A busy browser ends before it has fetched the icon of a page."""

CONTROLS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""What moves the cursor and sets colours, also in the middle of a line."""
REPORT = Path(__file__).with_name("hostile_report.html").read_text(encoding="utf-8")


class Listener:
    """Takes every connection, and keeps the first line of what is sent, empty when nothing is."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def fetched(self) -> set[str]:
        """The last parts of the paths asked for."""
        return {line.split(" ")[1].rpartition("/")[2] for line in self.heard if line.count(" ") == 2}

    def close(self) -> None:
        # Closing alone would not wake the thread that waits.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        place = len(self.heard)
        self.heard.append("")
        with connection:
            connection.settimeout(PATIENCE)
            try:
                self.heard[place] = connection.recv(65536).partition(b"\r\n")[0].decode("latin-1")
                connection.sendall(
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
            except OSError:
                return


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()


def loaded(url: str, listener: Listener, folder: Path) -> str:
    """Load a page, let six seconds pass on its clock, and return what became of it; all its hosts are the listener."""
    folder.mkdir()
    # The browser itself asks its makers for this and that; those are nowhere.
    hosts = f"MAP *.example 127.0.0.1:{listener.port}, MAP * ~NOTFOUND"
    done = subprocess.run(
        browser(folder, hosts, "--virtual-time-budget=6000", "--dump-dom", url),
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert "<html" in done.stdout, done.stderr
    return done.stdout


def opened_by_the_program(base: Path, page: str) -> str:
    """Put a report into the session of the real program, press `o` on it, and return what the browser was given."""
    asked = base / "asked"
    program = base / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {asked}.new\nmv {asked}.new {asked}\n')
    program.chmod(0o755)
    (session,) = lay_sessions(base, 1)
    (session / "the-report.html").write_text(page, encoding="utf-8")
    with terminal(
        base, "open", "latest", columns=160, rows=50, env=environment(base, BROWSER=str(program))
    ) as screen:
        screen.wait_for("past session", "the-report.html")
        # By name it is the last.
        screen.type(WORKSPACE)
        screen.settle()
        screen.type("\x1b[F")
        # The preview shows what there is to read.
        screen.wait_for("Kept heading", "Northwind", "kept link")
        screen.type("o")
        # The notification goes after a while, and may be gone when a busy machine lets this look.
        screen.wait_until(lambda: "Opening a copy" in CONTROLS.sub("", screen.output))
        screen.wait_until(asked.exists)
        screen.quit()
    return asked.read_text().strip()


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which .ci/run installs where it can")
def test_a_hostile_report_fetches_and_runs_nothing_in_the_browser_it_is_opened_in(tmp_path: Path) -> None:
    with listening() as listener:
        page = REPORT.format(u="http://evil.example/")
        url = opened_by_the_program(tmp_path, page)
        parts = urlsplit(url)
        assert parts.scheme == "file"
        copy = Path(unquote(parts.path))
        assert copy.stat().st_mode & 0o777 == 0o600
        seen = loaded(url, listener, tmp_path / "profile")
        assert listener.heard == []
        for kept in ("<h1>Kept heading</h1>", "Northwind</td>", '<td colspan="2">41 %</td>', "Kept end"):
            assert kept in seen
        assert 'href="https://kept.example/page"' in seen
        assert "td { color: #123456 }" in seen
        for gone in ("data-ran", "<script", "<iframe", "<form", "<svg", "file:", "javascript:", "ping="):
            assert gone not in seen.lower(), gone

    # The same report as it was written does all of it, so the listener would have heard.
    with listening() as listener:
        (tmp_path / "as-written.html").write_text(page, encoding="utf-8")
        missing = set(FETCHED_FROM_THE_ORIGINAL.split())
        for number in range(LOADS):
            if missing:
                loaded(
                    (tmp_path / "as-written.html").as_uri(), listener, tmp_path / f"another-profile-{number}"
                )
                missing -= listener.fetched
        assert missing == set()
