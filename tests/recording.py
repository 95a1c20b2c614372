"""Records the session of `ua-tui --demo --replay`: `python -m tests.recording` plays the demo's research query."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from tests.e2e.running import environment, program
from ua_tui.core.demo.launch import PACKED, SESSION
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL

QUERY = "Research the latest AI chip news and write a comprehensive report"
PACE = "4"
NOWHERE = "/demo"
"""Where the session says it was, instead of the folder of this machine."""
PACKED_FOLDERS = (
    "downloads",
    "extracted_articles",
    "report_checks",
    "search_results",
    "tool_results",
    "work_products",
)


def record(base: Path) -> Path:
    """Play the query below a folder; returns the folder of its session."""
    command = [program(), "run", "--demo", "--demo-pace", PACE, QUERY]
    subprocess.run(command, cwd=base, env=environment(base), check=True, stdout=subprocess.DEVNULL)
    (session,) = (base / WORKSPACES).glob("session_*")
    return session


def packed_files(session: Path) -> Iterator[tuple[str, bytes]]:
    """The files of the session that a replay shows, without the names of this machine."""
    base, name = os.fspath(session.parents[1]).encode(), session.name.encode()
    names = [JOURNAL]
    names += [
        path.relative_to(session).as_posix()
        for folder in PACKED_FOLDERS
        for path in sorted((session / folder).rglob("*"))
        if path.is_file()
    ]
    for each in names:
        data = (session / each).read_bytes()
        if each == JOURNAL:
            data = data.replace(base, NOWHERE.encode()).replace(name, SESSION.encode())
        if base in data:
            raise SystemExit(f"{each} names a folder of this machine")
        yield each, data


def pack(session: Path, target: Path) -> None:
    """Write the session into one file, which is the same each time for the same session."""
    with tarfile.open(target, "w:xz", preset=9) as packed:
        for name, data in packed_files(session):
            member = tarfile.TarInfo(f"{SESSION}/{name}")
            member.size = len(data)
            packed.addfile(member, BytesIO(data))


def main() -> None:
    """Record the session, and pack it into the package."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        pack(record(Path(base)), PACKED)
    sys.stdout.write(f"{PACKED.name}  {PACKED.stat().st_size / 1000:.0f} KB\n")


if __name__ == "__main__":
    main()
