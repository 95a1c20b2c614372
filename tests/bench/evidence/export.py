"""The export of a session: its time and size, what a browser requests for it, and whether secrets are in it."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.evidence.planted import LINK, SECRETS, planted_session
from tests.bench.table import Row, Section
from tests.e2e.chromium import BROWSER
from tests.e2e.running import run
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.export.formats import FORMATS, export_bytes

RESEARCH = "Research the latest AI chip news and write a comprehensive report"
SECONDS, MEGABYTES = 2.0, 5.0
RUNS = 3
PROBE = "http://probe.example/x.png"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--proxy-bypass-list=<-loopback>", "--virtual-time-budget=2000",
)  # fmt: skip


def export_section(base: Path) -> Section:
    """Export the session of the demo and one with planted secrets."""
    folder = _researched(base / "demo")
    rows = [*_size_rows(base / "demo", folder), _requests_row(base, folder), _secrets_row(base / "planted")]
    return Section(rows)


def _researched(base: Path) -> Path:
    base.mkdir(parents=True)
    done = run(base, "run", "--demo", RESEARCH)
    if done.code:
        raise RuntimeError(f"the session failed:\n{done.stderr}")
    (folder,) = (base / WORKSPACES).glob("session_*")
    return folder


def _size_rows(base: Path, folder: Path) -> list[Row]:
    """The time of the complete command, the longest of some runs, and the size of its file."""
    times = []
    for number in range(RUNS):
        begun = time.perf_counter()
        done = run(base, "export", str(folder), "-o", f"export-{number}.html")
        times.append(time.perf_counter() - begun)
        if done.code:
            raise RuntimeError(f"the export failed:\n{done.stderr}")
    size = (base / "export-0.html").stat().st_size / 1e6
    others = ", ".join(
        f"{form} {len(export_bytes(folder, Redactor(), form)) / 1e3:.0f} kB" for form in FORMATS
    )
    return [
        Row(
            "evidence: export of the demo's session, longest of 3",
            max(times),
            "s",
            SECONDS,
            "the whole command",
        ),
        Row("evidence: size of that export", size, "MB", MEGABYTES, others),
    ]


def _requests_row(base: Path, folder: Path) -> Row:
    measure = "evidence: requests of a browser for an export"
    if BROWSER is None:
        return Row(measure, None, "requests", 0, "not measured: there is no Chromium")
    empty, probe, page = base / "empty.html", base / "probe.html", base / "page.html"
    empty.write_text("<p>empty</p>")
    probe.write_text(f"<img src='{PROBE}'>")
    page.write_bytes(export_bytes(folder, Redactor()))
    # What a browser requests for itself, and whether a request would be seen.
    itself, seen = _requested(base, empty), _requested(base, probe)
    if not any("probe.example" in each for each in seen):
        raise RuntimeError("the proxy does not see the requests of the browser")
    found = _requested(base, page) - itself
    return Row(
        measure,
        len(found),
        "requests",
        0,
        f"by a proxy that saw the probe {'; '.join(sorted(found))}".strip(),
    )


def _requested(base: Path, page: Path) -> set[str]:
    """What a browser requests from its proxy while it shows a page."""
    with _proxy() as (port, found):
        command = [
            str(BROWSER),
            *_FLAGS,
            f"--proxy-server=127.0.0.1:{port}",
            f"--user-data-dir={base / 'profile'}",
            f"--screenshot={base / 'page.png'}",
            page.as_uri(),
        ]
        subprocess.run(
            command, check=True, timeout=60, capture_output=True, env={**os.environ, "HOME": str(base)}
        )
        return set(found)


@contextmanager
def _proxy() -> Iterator[tuple[int, list[str]]]:
    """A proxy that answers nothing and notes the first line of each request without its query."""
    found: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(2)
                    try:
                        line = connection.recv(4096).partition(b"\r\n")[0].decode("latin-1")
                    except OSError:
                        line = "nothing"
                    found.append(line.partition("?")[0])

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], found
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def _secrets_row(base: Path) -> Row:
    base.mkdir()
    folder = planted_session(base)
    redactor = Redactor([each.core for each in SECRETS if each.origin == "known value"])
    leaks = {
        f"{each.origin} in {each.place} ({form})"
        for form in FORMATS
        for text in [export_bytes(folder, redactor, form).decode()]
        for each in SECRETS
        if any(chunk in text for chunk in each.chunks)
    }
    leaks |= {"auth link" for form in FORMATS if LINK[-16:] in export_bytes(folder, redactor, form).decode()}
    named = "; ".join(sorted(leaks)) or "in HTML, Markdown and JSON"
    return Row(f"evidence: planted secrets in exports, of {len(SECRETS)}", len(leaks), "secrets", 0, named)
