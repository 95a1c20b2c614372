"""What else the command line writes: lines that are no messages, and a flood on its standard error."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import claude_agent_sdk

from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Text, Use, scripted_model
from ua_tui.core.events.types import ErrorRaised, QueryFinished, ToolCallFinished, ToolCallStarted

BUNDLED = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
# The real command line, which writes 10 MB to its standard error first, and whose messages are mixed with others.
WRAPPER = f"""#!{sys.executable}
import os, subprocess, sys

line = b"a line of a flood on the standard error of a command line\\n" * 20_000
for _ in range(9):
    os.write(2, line)
os.write(2, b"the last line\\n")
agent = subprocess.Popen([{str(BUNDLED)!r}, *sys.argv[1:]], stdout=subprocess.PIPE)
for line in agent.stdout:
    if b'"type":"assistant"' in line:
        sys.stdout.buffer.write(b'garbage\\n{{"type": "assistant", "message": null}}\\n{{"type": "end"}}\\n' + line)
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(agent.wait())
"""


def test_a_query_survives_what_is_no_message_and_a_flood(tmp_path: Path) -> None:
    wrapper = tmp_path / "cli"
    wrapper.write_text(WRAPPER, encoding="utf-8")
    wrapper.chmod(0o755)

    def answer(_body: object, results: int) -> list[Text | Use]:
        return [Text("Paris.")] if results else [Use("Glob", {"pattern": "*.md"})]

    with scripted_model(answer) as url:
        done = run(tmp_path, "run", "What?", env=model_environment(tmp_path, url, UA_CLI_PATH=str(wrapper)))
    assert (done.code, done.stdout) == (0, "Paris.\n")
    assert len(done.of(QueryFinished)) == len(done.of(ToolCallStarted)) == len(done.of(ToolCallFinished)) == 1
    (report,) = done.of(ErrorRaised)
    assert re.match(r"\d+ messages from the agent were malformed; what could be read is kept", report.message)
    assert "malformed" in done.stderr
    log = (done.session / "run.log").read_text(encoding="utf-8")
    assert "of its standard error were dropped" in log
    assert len(log) < 1_000_000
