from __future__ import annotations

import argparse
import subprocess
import sys
from importlib import import_module
from itertools import permutations
from pathlib import Path

import pytest

from tests.tui.fixture_types import Output
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import SessionStarted
from ua_tui.core.history.report_query import PAGE_AGE
from ua_tui.core.knowledge.records import KINDS
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.ownership import seal_session
from ua_tui.observers.output.saving import artifact_schemas
from ua_tui.tui.cli import main
from ua_tui.tui.cli.arguments import COMMANDS, command_first, read_arguments
from ua_tui.tui.cli.team.batch import MOST_ALL, MOST_EACH
from ua_tui.tui.cli.team.worker import PARALLEL

CASES: dict[str | None, tuple[list[str], list[tuple[str, ...]]]] = {
    None: (["why?"], [("--plain",), ("--allow", "A_*"), ("--max-cost=2",)]),
    "run": (["why?"], [("--json",), ("--resume", "latest"), ("--model", "m")]),
    "sessions": ([], [("--json",), ("--workspace", "out"), ("--theme", "nord")]),
    "open": (["latest"], [("--workspace", "out"), ("--theme", "nord")]),
    "replay": (["latest"], [("--speed", "8"), ("--until", "9"), ("--workspace", "out"), ("--theme", "nord")]),
    "find": (["AI", "chips"], [("--kind", "article"), ("--since", "30d"), ("--json",)]),
    "knowledge": (["forget"], [("--session", "latest"), ("--dry-run",), ("--json",)]),
    "rebuild": (["latest"], [("--workspace", "out")]),
    "resume": (["latest", "why?"], [("--plain",), ("--workspace", "out"), ("--fresh",)]),
    "fork": (["latest"], [("--at", "q2"), ("--model", "m"), ("--theme", "nord"), ("--workspace", "out")]),
    "check": (
        ["a.md"],
        [
            ("--session", "latest"),
            ("--table",),
            ("--json",),
            ("--ask-model",),
            ("--yes",),
            ("--workspace", "w"),
        ],
    ),
    "again": (["a.html"], [("--max-age", "1"), ("--demo",), ("--workspace", "w")]),
    "compare": (["a", "b"], [("--json",), ("--workspace", "w")]),
    "export": (["s"], [("--format", "md"), ("--report", "a"), ("--output", "b"), ("--workspace", "w")]),
    "observe": ([], [("--tool", "a"), ("--result", "b"), ("--json",)]),
    "doctor": ([], [("--to", "postgresql://db/desk"), ("--json",), ("--demo",), ("--workspace", "out")]),
    "fleet": (
        [],
        [("--from", "postgresql://db/desk"), ("--json",), ("--workspace", "out"), ("--theme", "nord")],
    ),
    "batch": (["FILE"], [("--to", "postgresql://db/desk"), ("--max-cost-all", "5"), ("--ask",), ("--json",)]),
    "worker": ([], [("--from", "postgresql://db/desk"), ("--parallel", "2"), ("--workspace", "out")]),
    "team": (["grant", "mary"], [("--to", "postgresql://db/desk"), ("--json",)]),
    "connect": (["gmail"], [("--json",), ("--timeout", "5"), ("--no-open",)]),
    "serve": (["why?"], [("--port", "80"), ("--demo",)]),
    "servers": (["trust", "notes"], [("--json",)]),
    "trust": (["show", "project"], [("--json",)]),
    "permissions": (["remove", "1", "2"], [("--json",), ("--workspace", "out")]),
    "agents": ([], [("--json",)]),
    "blacklist": (["clear", "a.example", "b.example"], [("--json",), ("--workspace", "out")]),
    "config": (["set", "theme", "nord"], [("--project",), ("--json",)]),
    "schema": (["article"], []),
    "completion": (["bash"], []),
    "help": (["open"], []),
}
"""For each command what it takes in order, and options that may stand anywhere."""


def read(command: str | None, *given: str) -> argparse.Namespace:
    return read_arguments("ua-tui", COMMANDS[command], given)


def test_options_may_stand_anywhere() -> None:
    assert CASES.keys() == {*COMMANDS}
    for command, (others, options) in CASES.items():
        wanted = vars(read(command, *(word for option in options for word in option), *others))
        for order in permutations([*((other,) for other in others), *options]):
            if [part[0] for part in order if part[0] in others] == others:
                given = [word for part in order for word in part]
                assert vars(read(command, *given)) == {**wanted, "given": tuple(given)}


def test_what_follows_two_dashes_is_no_option() -> None:
    args = read("resume", "--plain", "latest", "--", "--fresh")
    assert (args.session, args.query, args.plain, args.fresh) == ("latest", "--fresh", True, False)
    args = read("run", "--json", "--", "-what")
    assert (args.query, args.json) == ("-what", True)
    args = read("blacklist", "--", "clear", "--all")
    assert (args.action, args.hosts, args.all) == ("clear", ["--all"], False)


def test_what_nobody_knows_is_reported_in_one_line(capsys: Output) -> None:
    for command, (others, _) in CASES.items():
        name = [command] if command else []
        with pytest.raises(SystemExit) as ended:
            main([*name, *others, "--wrong"])
        assert ended.value.code == 2
        prog = " ".join(["ua-tui", *name])
        assert capsys.readouterr().err == f"{prog}: unrecognized arguments: --wrong; see {prog} --help\n"


def test_help_names_every_argument_and_command(capsys: Output) -> None:
    for command, (others, options) in CASES.items():
        with pytest.raises(SystemExit) as ended:
            main([*([command] if command else []), "--help"])
        assert ended.value.code == 0
        reported = capsys.readouterr().out
        assert ("positional arguments:" in reported) == bool(others)
        for option in options:
            assert option[0].partition("=")[0] in reported, command
        if command is None:
            assert [name for name in filter(None, COMMANDS) if f"\n  {name} " not in reported] == []


def test_what_does_not_go_together_is_reported_in_one_line(capsys: Output) -> None:
    assert main(["run", "why?", "--fresh"]) == 2
    assert main(["serve", "--demo", "run"]) == 2
    assert main(["serve", "--no-token", "--token", "x" * 16]) == 2
    reported = capsys.readouterr().err.splitlines()
    assert reported == [
        "ua-tui run: --fresh needs --resume; see ua-tui run --help",
        "ua-tui serve: 'run' is a command; only sessions can be served; see ua-tui serve --help",
        "ua-tui serve: --token and --no-token cannot be used together; see ua-tui serve --help",
    ]


def test_what_the_help_says_of_other_parts_is_true() -> None:
    assert read("again", "a.html").max_age * 86_400 == PAGE_AGE
    assert all(kind in COMMANDS["find"].arguments["--kind"]["help"] for kind in KINDS)
    assert COMMANDS["worker"].arguments["--parallel"]["help"].endswith(f"(default: {PARALLEL})")
    schemas = {"journal", "export", "check", "comparison", *artifact_schemas()}
    assert {*COMMANDS["schema"].arguments["format"]["choices"]} == schemas
    batch = COMMANDS["batch"].arguments
    assert f"(default: {MOST_EACH:.0f})" in batch["--max-cost-each"]["help"]
    assert f"(default: {MOST_ALL:.0f})" in batch["--max-cost-all"]["help"]


def test_every_command_has_a_function() -> None:
    functions = [command.function.partition(":") for command in COMMANDS.values()]
    readers = [how.get("type", "") for command in COMMANDS.values() for how in command.arguments.values()]
    functions += [each.partition(":") for each in readers if ":" in each]
    for module, _, function in functions:
        assert callable(getattr(import_module(f"ua_tui.tui.cli.{module}"), function))


def test_help_takes_the_name_of_a_command(capsys: Output) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["help", "rebuild"])
    assert ended.value.code == 0
    reported = capsys.readouterr().out
    assert reported.startswith("usage: ua-tui rebuild ")
    for name in filter(None, COMMANDS):
        with pytest.raises(SystemExit):
            main(["help", name])
        lines = capsys.readouterr().out.splitlines()
        # An example stays in one line, to be copied.
        assert [line for line in lines if len(line) > 80 and not line.startswith("  ua-tui ")] == []
    assert main(["help", "nope"]) == 2
    assert capsys.readouterr().err == "ua-tui: there is no command 'nope'; see ua-tui --help\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_every_command_and_option(shell: str, capsys: Output) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [name for name in filter(None, COMMANDS) if name not in script] == []
    # fish names long options without their dashes.
    assert [option for option in ("permission-mode", "output-schema", "attach") if option not in script] == []


def test_bash_completes_sessions_and_runs_no_name(tmp_path: Path, capsys: Output) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    for name in ("session_20261121_074110", "session_$(touch made)", "knowledge"):
        (tmp_path / "AGENT_RUN_WORKSPACES" / name).mkdir(parents=True)
    assert "_shtab_ua_tui_compare_pos_1_COMPGEN=_ua_tui_sessions\n" in script
    assert "_shtab_ua_tui_help_pos_0_choices=(run sessions " in script
    assert f"_shtab_ua_tui_find___kind_choices=({' '.join(KINDS)})\n" in script
    asked = f"{script}\n_ua_tui_sessions ''"
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["latest", "session_20261121_074110"]
    assert not (tmp_path / "made").exists()


def test_what_is_named_and_is_not_there_is_wrong_usage(capsys: Output) -> None:
    wrong = (["run", "--demo", "--attach", "nope.png", "hi"], ["check", "nope.html"], ["open", "nope"])
    assert [main(given) for given in wrong] == [2, 2, 2]
    assert "nope.png cannot be added: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "moved"), [
    (["--demo", "run", "hi"], ["run", "--demo", "hi"]),
    (["--max-cost", "1", "--demo", "run", "hi"], ["run", "--max-cost", "1", "--demo", "hi"]),
    (["--model", "run", "run", "open"], ["run", "--model", "run", "open"]),
    (["--json", "sessions"], ["sessions", "--json"]),
    (["run", "--demo", "open"], ["run", "--demo", "open"]),
    (["--demo", "why", "run"], ["--demo", "why", "run"]),
    (["--demo", "--", "run", "hi"], ["--demo", "--", "run", "hi"]),
    (["--model", "run"], ["--model", "run"]),
    ([], []),
])  # fmt: skip
def test_options_may_stand_before_the_command(given: list[str], moved: list[str]) -> None:
    assert command_first(given) == moved


def test_wrong_options_before_the_command_are_refused_by_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(sys, "argv", ["__main__.py"])
    with pytest.raises(SystemExit):
        command_first(["--demo=3", "run", "hi"])
    assert capsys.readouterr().err.startswith("ua-tui: --demo takes no value; ")


@pytest.mark.parametrize(("given", "meant"), [
    (["session"], "sessions"),
    (["docter", "--demo"], "doctor"),
    (["--demo", "sesions"], "sessions"),
    (["hlep"], "help"),
    (["--plain", "Serv"], "serve"),
])  # fmt: skip
def test_a_command_that_is_mistyped_is_no_query(given: list[str], meant: str, capsys: Output) -> None:
    assert main(given) == 2
    reported = capsys.readouterr().err
    assert f"did you mean ua-tui {meant}?" in reported
    assert "put -- before it" in reported


def test_a_resume_without_a_terminal_names_what_resumes_without_one(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / WORKSPACES / "session_20261121_140200"
    folder.mkdir(parents=True)
    begun = SessionStarted(seq=1, session_id="s", workspace="/w", cwd="/", version="1")
    (folder / "journal.jsonl").write_bytes(encode_event(begun) + b"\n")
    seal_session(Root(folder))
    assert main(["resume", "latest", "--workspace", str(tmp_path)]) == 2
    assert (
        "`ua-tui run --resume latest QUERY`, or `ua-tui resume latest --plain` for" in capsys.readouterr().err
    )


def test_other_queries_are_asked(capsys: Output) -> None:
    for given in (["--", "session"], ["session of parliament"], ["Helsinki"], ["why?"]):
        # There is no terminal here, which is what they are refused for.
        assert main(["--demo", *given]) == 2
        assert "the full-screen interface needs a terminal" in capsys.readouterr().err
