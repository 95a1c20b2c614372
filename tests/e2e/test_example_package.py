"""The example of `docs/examples`, built and installed into an environment of its own as its page says."""

from __future__ import annotations

import site
import subprocess
import sys
from pathlib import Path

from core.events.types import ArtifactSaved, ToolCallFinished
from tests.e2e.running import environment, run

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "ua-tui-house-rules"


def fresh_environment(folder: Path) -> Path:
    """An environment that knows what this one does, and has what is installed into it beside; gives its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = [path for path in site.getsitepackages() if path.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({path!r})" for path in packages]
    (folder / "lib" / version / "site-packages" / "outer.pth").write_text("\n".join(lines), encoding="utf-8")
    return python


def test_it_is_built_installed_and_picked_up_by_a_session(tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "venv")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
    # Built from a copy, as builders leave files beside what they build.
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", EXAMPLE, source], check=True)
    subprocess.run([python, "-m", "pip", "install", *offline, source], check=True, env=environment(tmp_path))
    done = run(
        tmp_path / "base",
        "run",
        "--demo",
        "Research the latest AI chip news and write a comprehensive report",
        python=python,
    )
    assert done.code == 0, done.stderr
    assert "left out" not in done.stderr
    kept = [event for event in done.of(ArtifactSaved) if event.observer == "percentages"]
    assert kept
    assert done.json(kept[0].path)["percentages"]
    assert all(event.status == "success" for event in done.of(ToolCallFinished))
