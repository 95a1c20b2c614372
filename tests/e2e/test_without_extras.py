"""The program as it is without any extra: what is missing is said with what to do, and everything else works."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.dependencies_page import EXTRAS, installed_by
from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Text, scripted_model
from tests.paths import PROJECT
from ua_tui.core.events.types import QueryFinished

TOKEN = "pylf_v1_us_canary0123456789canary"
REMEDY = (
    "needs the extra {0}, which is not installed: in a clone of ua-tui, run "
    "uv tool install -c constraints.txt '.[{0}]', or pip install -c constraints.txt '.[{0}]'"
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has what is always installed, and no package of an extra."""
    folder = tmp_path_factory.mktemp("plain")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in installed_by("ua-tui") - {"ua-tui"}:
        installed = distribution(name)
        for top in {file.parts[0] for file in installed.files or [] if file.parts[0] != ".."} - {
            "__pycache__"
        }:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(installed.locate_file(top)))
    (packages / "clone.pth").write_text(f"{PROJECT}\n", encoding="utf-8")
    return folder / "bin" / "python"


def test_a_query_is_answered_and_what_is_missing_is_said(python: Path, tmp_path: Path) -> None:
    names = ("composio", "docx", "logfire", "textual_serve", "typst", "keyring", "psycopg")
    code = f"from importlib.util import find_spec; print([find_spec(each) for each in {names}])"
    assert subprocess.check_output([python, "-c", code], text=True) == f"{[None] * len(names)}\n"
    with scripted_model(lambda _body, _results: [Text("It is Paris.")]) as url:
        keys = {"COMPOSIO_API_KEY": "ak_canary", "LOGFIRE_TOKEN": TOKEN}
        given = model_environment(tmp_path, url, **keys)
        done = run(tmp_path, "run", "What is the capital of France?", python=python, env=given)
        tested = run(tmp_path, "doctor", python=python, env=given)
        exported = run(tmp_path, "export", "latest", "--format", "docx", python=python, env=given)
    assert (done.code, done.stdout) == (0, "It is Paris.\n")
    assert len(done.of(QueryFinished)) == 1
    assert f"Composio {REMEDY.format('composio')}; the session continues without its tools" in done.stderr
    assert f"xporting to Logfire {REMEDY.format('logfire')}" in done.stderr
    assert (done.session / "spans.jsonl").stat().st_size > 0
    assert TOKEN not in done.stderr
    assert f"exporting as docx {REMEDY.format('documents')}" in exported.stderr
    assert (tested.code, tested.stdout.count("FAILED  ")) == (1, 2)
    for extra in ("composio", "logfire"):
        assert REMEDY.format(extra).partition(": ")[2] in tested.stdout


def test_a_command_that_needs_an_extra_says_so_in_one_line(python: Path, tmp_path: Path) -> None:
    needed = {
        ("serve", "--demo", "--port", "0"): "serve",
        ("connect", "gmail"): "composio",
        ("worker", "--from", "postgresql:///desk"): "team",
    }
    for command, extra in needed.items():
        given = model_environment(tmp_path, "http://127.0.0.1:9", COMPOSIO_API_KEY="ak_canary")
        done = run(tmp_path, *command, python=python, env=given)
        assert done.code in {1, 2}
        (line,) = done.stderr.splitlines()
        assert line.endswith(REMEDY.format(extra))
    assert {*needed.values()} == {*EXTRAS} - {"documents", "keyring", "logfire"}
