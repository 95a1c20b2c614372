from __future__ import annotations

from pathlib import Path

from tests.tui.fixture_types import Output
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import QueryReceived, SessionStarted
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.cli import main


def test_it_says_what_was_rebuilt_and_what_could_not_be_read(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / WORKSPACES / "session_20261121_140200"
    folder.mkdir(parents=True)
    begun = SessionStarted(seq=1, session_id="s", workspace="/w", cwd="/", version="1")
    asked = QueryReceived(seq=2, query_id="q1", text="why?")
    later = b'{"event":"from_later","seq":3,"at":"2026-11-21T14:02:00Z"}'
    earlier = b'{"event":"server_trust_asked","seq":4,"at":"2026-11-21T14:02:00Z","server":"notes"}'
    lines = [encode_event(begun), encode_event(asked), later, earlier, b"damaged", b'{"event":']
    (folder / "journal.jsonl").write_bytes(b"\n".join(lines))
    assert main(["rebuild", "latest", "--workspace", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Rebuilt trace.json, transcript.md and summary.txt in {folder} from 2 events.",
        "Not read: damaged lines of the journal (1).",
        "Not read: events of a later version of ua-tui (1).",
        "Not read: the last line of the journal, which is incomplete.",
    ]
    assert "why?" in (folder / "summary.txt").read_text()


def test_a_session_that_is_not_there_or_empty_is_one_line(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / WORKSPACES / "session_20261121_140200"
    assert main(["rebuild", str(folder)]) == 2
    assert "there is no session" in capsys.readouterr().err
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").touch()
    assert main(["rebuild", str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "has no events: nothing is rebuilt" in error
