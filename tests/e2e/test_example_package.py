"""The built program in an environment of its own: with the example of `docs/examples`, and beside other `core`s."""

from __future__ import annotations

import site
import subprocess
import sys
import zipfile
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder

from tests.e2e.running import environment, model_environment, run
from tests.e2e.scripted_model import Text, Use, scripted_model
from tests.paths import PROJECT
from ua_tui.core.events.types import ArtifactSaved, ToolCallFinished

EXAMPLE = PROJECT / "docs" / "examples" / "ua-tui-house-rules"
OFFLINE = [
    "--no-index",
    "--no-deps",
    "--no-build-isolation",
    "--disable-pip-version-check",
    "--quiet",
    "--no-compile",
]
WRITE = "mcp__local_toolkit__write_local_file"
CALLS = (Use(WRITE, {"path": "notes.md", "content": "Yields rose by 41 percent."}),
         Use("mcp__local_toolkit__read_local_file", {"path": "notes.md"}))  # fmt: skip
API = """\
import core, styles
import ua_tui.core
from ua_tui.api import open_session
for each in (core, styles, ua_tui.core):
    print(each.__file__)
"""


def fresh_environment(folder: Path) -> Path:
    """An environment that knows what this one does, and has what is installed into it beside; gives its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = [path for path in site.getsitepackages() if path.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({path!r})" for path in packages]
    (folder / "lib" / version / "site-packages" / "outer.pth").write_text("\n".join(lines), encoding="utf-8")
    return python


def small_wheel(folder: Path, name: str) -> Path:
    """A wheel of a package with one file, which is empty."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        for file, text in {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }.items():
            wheel.writestr(f"{name}-1.0.dist-info/{file}", text)
    return path


def test_it_works_installed_beside_packages_with_the_names_of_its_folders(tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "venv")
    env = environment(tmp_path)

    def install(*what: Path) -> None:
        subprocess.run([python, "-m", "pip", "install", *OFFLINE, *what], check=True, env=env)

    # Built from a copy, as builders leave files beside what they build.
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", EXAMPLE, source], check=True)
    # From the source distribution, which has to be complete for that.
    (archive,) = SdistBuilder(str(PROJECT)).build(directory=str(tmp_path / "dist"))
    install(Path(archive), source)
    with scripted_model(lambda _body, results: CALLS[results : results + 1] or (Text("Done."),)) as url:
        given = model_environment(tmp_path / "base", url)
        done = run(tmp_path / "base", "run", "--allow", WRITE, "Take a note", python=python, env=given)
    assert done.code == 0, done.stderr
    assert "left out" not in done.stderr
    kept = [event for event in done.of(ArtifactSaved) if event.observer == "percentages"]
    assert kept
    assert done.json(kept[0].path)["percentages"] == ["41 percent"]
    assert all(event.status == "success" for event in done.of(ToolCallFinished))

    def start(*command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, *command], capture_output=True, text=True, check=False, cwd=tmp_path, env=env | extra
        )

    program = str(tmp_path / "venv" / "bin" / "ua-tui")
    # An application and an installed package that have the names of our folders.
    foreign = tmp_path / "work"
    (foreign / "core").mkdir(parents=True)
    (foreign / "core" / "__init__.py").write_text("", encoding="utf-8")
    (foreign / "program.py").write_text(API, encoding="utf-8")
    install(small_wheel(tmp_path, "styles"))
    paths = start(str(foreign / "program.py")).stdout.splitlines()
    assert paths[:1] == [str(foreign / "core" / "__init__.py")]
    assert all(Path(path).is_relative_to(tmp_path / "venv") for path in paths[1:])
    for command in ([program], ["-m", "ua_tui"]):
        shown = start(*command, "--version", PYTHONPATH=str(foreign))
        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout.startswith("ua-tui ")
