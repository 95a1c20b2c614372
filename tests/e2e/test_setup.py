"""The first start of the real program without a key, in a real pseudo-terminal, up to an answered question."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

from tests.e2e.running import environment
from tests.e2e.scripted_model import Text, scripted_model
from tests.e2e.terminal import terminal

KEY = "canary-key-5f1e2d3c4b5a"
QUESTION = "What is the capital of France?"
CONFIG = Path(".config/ua-tui/config.toml")


def leaks(base: Path) -> list[Path]:
    """The files that hold the key, besides the one in which it is stored."""
    files = [path for path in base.rglob("*") if path.is_file() and path != base / CONFIG]
    return [path for path in files if KEY.encode() in path.read_bytes()]


def test_from_no_key_at_all_to_an_answered_question(tmp_path: Path) -> None:
    with scripted_model(lambda _body, _results: [Text("It is **Paris**, of course.")]) as url:
        with terminal(tmp_path, QUESTION, columns=80, rows=24, env=environment(tmp_path)) as screen:
            screen.wait_for(
                "How do you want to connect to a model?", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "Demo"
            )
            screen.press_until("4", lambda text: "Address" in text)
            screen.wait_for("Token", "config.toml")
            # A wrong address first: what was entered is still there afterwards.
            screen.type("\x15127.0.0.1:1\tmy-model\t")
            screen.type(f"\x1b[200~\r\n {KEY}\r\n\x1b[201~")
            screen.wait_for("•" * len(KEY))
            screen.type("\r")
            screen.wait_for("Nothing is listening at http://127.0.0.1:1")
            screen.type("\r")
            screen.wait_for("127.0.0.1:1", "•" * len(KEY), lambda text: "Nothing is listening" not in text)
            screen.type("\x15" + url + "\r")
            screen.wait_for("The model works", "Saved in", "Start")
            assert tomllib.loads((tmp_path / CONFIG).read_text()) == {
                "auth_token": KEY,
                "base_url": url,
                "model": "my-model",
            }
            assert stat.S_IMODE((tmp_path / CONFIG).stat().st_mode) == 0o600
            screen.type("\r")
            # The question that was given on the command line is asked by itself.
            screen.wait_for("It is Paris, of course.", "ready")
            assert KEY.encode() not in screen.written
            screen.quit()
        assert leaks(tmp_path) == []
        # The next start needs no setup.
        with terminal(tmp_path, QUESTION, columns=80, rows=24, env=environment(tmp_path)) as screen:
            screen.wait_for("It is Paris, of course.", "ready")
            screen.quit()
        # The folder of a session in which nothing was asked is gone after another setup.
        with terminal(tmp_path, columns=80, rows=24, env=environment(tmp_path)) as screen:
            screen.wait_for("ready")
            screen.type("/setup\r")
            screen.wait_for("How do you want to connect to a model?")
            screen.press_until("4", lambda text: "Address" in text)
            screen.type(f"\x15{url}\t\x15other\t\x15{KEY}\r")
            screen.wait_for("The model works", "Start")
            screen.type("\r")
            screen.wait_for("other", "ready", lambda text: "The model works" not in text)
            screen.type(QUESTION + "\r")
            screen.wait_for("It is Paris, of course.", "ready")
            screen.quit()
