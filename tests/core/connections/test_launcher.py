"""A server's program, as it is started: what it reads of what the agent says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ua_tui.core.connections.user_servers import launched

CAPABILITIES = {"roots": {"listChanged": True}, "elicitation": {}}
INITIALIZE = {"method": "initialize", "params": {"capabilities": CAPABILITIES}, "id": 0}
DISCOVER = {
    "method": "server/discover", "params": {"_meta": {"x/clientCapabilities": CAPABILITIES, "n": 1}}, "id": 1,
}  # fmt: skip
CHANGED = {"method": "notifications/roots/list_changed"}
CALL = {"method": "tools/call", "params": {"arguments": {"capabilities": {"roots": "mine"}}}, "id": 2}


OTHERS = [b'not "roots": JSON', b'{"params":["roots"]}', b"the end"]
SAID = [*(json.dumps(each).encode() for each in (INITIALIZE, DISCOVER, CHANGED, CALL)), *OTHERS]


def read_by(folder: Path, *args: str, given: str = "") -> list[bytes]:
    """What a program reads that is started with these arguments."""
    command = launched(["sh", "-c", "cat", *args], folder, ["PATH"], [given])
    done = subprocess.run(command, input=b"\n".join(SAID) + b"\n", capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("args", "given"), [(("the folder",), ""), (("--root=./the folder",), ""), ((), "the folder")]
)
def test_a_server_of_a_folder_reads_of_no_roots(tmp_path: Path, args: tuple[str, ...], given: str) -> None:
    (tmp_path / "the folder").mkdir()
    initialize, discover, call, *rest = read_by(tmp_path, *args, given=given)
    assert json.loads(initialize) == INITIALIZE | {"params": {"capabilities": {"elicitation": {}}}}
    meta = {"x/clientCapabilities": {"elicitation": {}}, "n": 1}
    assert json.loads(discover) == DISCOVER | {"params": {"_meta": meta}}
    assert json.loads(call) == CALL
    assert rest == OTHERS


def test_any_other_server_reads_everything(tmp_path: Path) -> None:
    assert read_by(tmp_path, "no-such-place", "", "--root=", given="nul\0") == SAID
