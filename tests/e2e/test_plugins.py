from __future__ import annotations

from pathlib import Path

from core.events.types import ArtifactSaved, ObserverFinished
from tests.e2e.running import environment, model_environment, run
from tests.e2e.scripted_model import Text, scripted_model
from tests.observers.plugin_package import install, install_example


def test_a_session_picks_up_an_installed_observer_and_leaves_out_a_broken_one(tmp_path: Path) -> None:
    site = install_example(tmp_path / "site")
    install(site, "other_package", "raise ImportError('no library')\n", broken="other_package:It")
    env = environment(tmp_path, PYTHONPATH=str(site))
    done = run(tmp_path / "base", "run", "--demo", "Plot the monthly revenue in the workbench", env=env)
    assert done.code == 0
    assert "Traceback" not in done.stderr
    assert "✗ Observer broken failed: other_package:It of other_package is skipped" in done.stderr
    finished = done.of(ObserverFinished)
    assert finished[0].observer == "broken"
    mine = [event for event in finished if event.observer == "links"]
    assert mine
    assert {event.status for event in mine} <= {"saved", "skipped"}
    for event in done.of(ArtifactSaved):
        if event.observer == "links":
            assert done.json(event.path)["links"]
    summary = (done.session / "summary.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split()[:2] for line in summary if line.startswith("  links ")] == [
        ["links", str(len(mine))]
    ]
    assert "no library" in (done.session / "run.log").read_text(encoding="utf-8")


def test_without_plugins_a_session_has_only_its_own_observers(tmp_path: Path) -> None:
    site = install_example(tmp_path / "site")
    with scripted_model(lambda _body, _results: [Text("It is Paris.")]) as url:
        env = model_environment(tmp_path, url, PYTHONPATH=str(site))
        done = run(tmp_path / "base", "run", "--no-plugins", "What is the capital of France?", env=env)
    assert done.code == 0
    assert not done.of(ObserverFinished)
