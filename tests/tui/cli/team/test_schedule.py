"""`ua-tui batch --every`, for a team and on one machine."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.postgres_server import Database
from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli import main


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    for name in [name for name in os.environ if name.startswith(("PG", "UA_", "XDG_"))]:
        monkeypatch.delenv(name)
    folder = tmp_path / "100% of it"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.chdir(folder)
    Path("queries.txt").write_text("What is new?\nWhat is old?\n", encoding="utf-8")
    return folder


def units(printed: str) -> tuple[configparser.ConfigParser, configparser.ConfigParser, str]:
    """The service, the timer and the line for cron."""
    service, timer, cron = printed.split("\n# ")
    found = []
    for text in (service, timer):
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read_string(text.partition("\n")[2])
        found.append(unit)
    return found[0], found[1], cron.splitlines()[1]


def test_on_one_machine_a_timer_and_a_line_for_cron_are_printed(own_folder: Path, capsys: Output) -> None:
    given = [
        "batch",
        "queries.txt",
        "--demo",
        "--name",
        "my weekly",
        "--every=mon 07:00",
        "--allow",
        'Write(a "b" %c)',
    ]
    assert main(given) == 0
    service, timer, cron = units(capsys.readouterr().out)
    assert timer["Timer"]["OnCalendar"] == "Mon *-*-* 07:00:00 Europe/Berlin"
    if analyse := shutil.which("systemd-analyze"):
        subprocess.run([analyse, "calendar", timer["Timer"]["OnCalendar"]], check=True, capture_output=True)
    assert service["Service"]["WorkingDirectory"] == str(own_folder).replace("%", "%%")
    command = service["Service"]["ExecStart"]
    assert command.endswith(
        'batch --again queries.txt --demo --name "my weekly" --allow "Write(a \\"b\\" %%c)"'
    )
    times, _, line = cron.partition(" cd ")
    assert times == "0 7 * * 1"
    words = shlex.split(line.replace(r"\%", "%"))
    assert words[:2] == [str(own_folder), "&&"]
    assert words[-8:] == ["batch", "--again", *given[1:5], *given[6:]]
    assert not list(own_folder.glob("*ua-tui*"))


def test_days_of_the_month_or_of_the_week_are_for_cron_only(capsys: Output) -> None:
    assert main(["batch", "queries.txt", "--every", "0 7 1 * 1", "--again"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == "# systemd cannot combine days of the month with days of the week as cron does: use cron"
    )
    assert lines[-1].startswith("0 7 1 * 1 cd ")
    assert lines[-1].endswith("batch queries.txt --again")


@pytest.mark.parametrize(("given", "words"), [
    (["queries.txt", "--every", "monday"], "'monday' is not a schedule: write \"mon 07:00\""),
    (["queries.txt", "--every", "0 7 * * 5L"], "needs a team's database"),
    (["-", "--every", "hourly"], "name a file"),
    (["queries.txt", "--every", "hourly", "--retry-failed"], "omit --retry-failed"),
    (["queries.txt", "--every", "hourly", "--json", "--to", "postgresql://db/desk"], "without --every writes"),
])  # fmt: skip
def test_what_is_wrong_is_refused(given: list[str], words: str, capsys: Output) -> None:
    assert main(["batch", *given]) == 2
    assert words in capsys.readouterr().err


def test_a_schedule_of_a_team_is_made_shown_and_removed(team_database: Database, capsys: Output) -> None:
    to = ["--to", team_database.url]
    given = ["batch", "queries.txt", "--name", "weekly", "--demo", *to]
    assert main([*given, "--every", "daily 08:00"]) == 0
    assert main([*given, "--every", "mon 07:00"]) == 0
    reported = capsys.readouterr()
    assert "scheduled: weekly, 2 queries, mon 07:00 Europe/Berlin, first Mon " in reported.err
    assert team_database.execute("SELECT count(*) FROM job") == [(0,)]
    assert main(["team", *to]) == 0
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("  weekly of owner: mon 07:00 Europe/Berlin · next Mon ")
    assert line.endswith(" · has not run")
    team_database.execute("UPDATE schedule SET next_at = now() - interval '1 hour'")
    assert main(["team", *to]) == 0
    assert capsys.readouterr().out.endswith(": no worker is alive: start one with `ua-tui worker`\n")
    assert main(["team", "attention", *to]) == 0
    assert (
        "weekly  owner  1h 00m ago  the schedule did not run: no worker is alive" in capsys.readouterr().out
    )
    team_database.execute("UPDATE schedule SET missed_at = now(), next_at = NULL")
    for marked in ("1 entry marked as checked", "nothing is marked: it was checked before"):
        assert main(["team", "attention", "--checked", "weekly", *to]) == 0
        assert marked in capsys.readouterr().out
    assert main(["team", "cancel", "weekly", *to]) == 0
    assert "the schedule weekly is removed" in capsys.readouterr().out
    assert main(["team", *to]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "schedules none"
    assert main(["team", "cancel", "weekly", *to]) == 1
