"""The workspace when the system allows no more watches: in a user namespace with limits of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.paths import PROJECT

IN_NAMESPACE = ("unshare", "--user", "--map-root-user", "sh", "-ec")
PROGRAM = """
    import asyncio, sys
    from pathlib import Path
    from types import SimpleNamespace
    from tests.tui.files_host import hosted
    from tests.waiting import until
    from tests.tui.tree_host import pane_of, rows
    from ua_tui.tui.panes.workspace import tree

    logged = []
    tree.log = SimpleNamespace(warning=lambda form, *values: logged.append(form % values))

    async def main(root):
        tree.SWEEP_SECONDS = 3_600.0
        pane = pane_of(root)
        async with hosted(pane) as (app, _):
            await until(lambda: "first" in rows(pane))
            (root / "new" / "inner").mkdir(parents=True)
            await until(lambda: pane.tree_view.polling)
            (root / "later.txt").write_text("x")
            await until(lambda: "later.txt" in rows(pane))
            if sys.argv[2] == "0":
                pane.set_root(root / "first")
                await until(lambda: pane.tree_view.polling)
            print(*app.shown_text, *logged, sep="\\n")

    asyncio.run(main(Path(sys.argv[1])))
"""


def can_limit() -> bool:
    """Whether this system has user namespaces with limits of their own."""
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        return False
    command = [*IN_NAMESPACE, "echo 1 > /proc/sys/user/max_inotify_watches"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not can_limit(), reason="needs user namespaces")
@pytest.mark.parametrize(
    ("limit", "most", "what"),
    [
        ("max_inotify_instances", 0, "no more watchers"),
        ("max_inotify_watches", 0, "no more watched folders"),
        ("max_inotify_watches", 2, "no more watched folders"),
    ],
)
def test_a_limit_is_reported_once_and_the_tree_is_still_updated(
    tmp_path: Path, limit: str, most: int, what: str
) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "file").touch()
    script = f'echo {most} > /proc/sys/user/{limit}; exec "$0" -c "$@"'
    done = subprocess.run(
        [*IN_NAMESPACE, script, sys.executable, textwrap.dedent(PROGRAM), str(tmp_path), str(most)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    shown, message = done.stdout.splitlines()
    assert shown == "File changes are checked once a second: run.log says why."
    assert message.startswith(f"The system allows {what}, so file changes are checked once a second.")
    assert "sudo sysctl fs.inotify.max_user_" in message
