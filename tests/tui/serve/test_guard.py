"""Who may have the served screen, and which arguments its sessions get."""

from __future__ import annotations

import pytest

from tests.tui.fixture_types import Output
from ua_tui.tui.cli.arguments import COMMANDS, read_arguments
from ua_tui.tui.cli.serve import passed_on
from ua_tui.tui.serve.guard import Guard, is_loopback, names_of
from ua_tui.tui.serve.session import cells

TOKEN = "a-token-of-sixteen"
LOOPBACK = Guard(None, names_of("127.0.0.1"))
ELSEWHERE = Guard(TOKEN, names_of("0.0.0.0"))


@pytest.mark.parametrize(
    ("host", "origin", "websocket", "allowed"),
    [
        ("127.0.0.1:8000", None, False, True),
        ("localhost:8000", None, False, True),
        ("LOCALHOST:8000", "http://localhost:8000", True, True),
        ("[::1]:8000", "http://[::1]:8000", True, True),
        ("127.0.0.1:8000", None, True, False),
        ("127.0.0.1:8000", "null", True, False),
        ("127.0.0.1:8000", "http://127.0.0.1:8001", True, False),
        ("127.0.0.1:8000", "http://localhost:8000", True, False),
        ("127.0.0.1:8000", "http://evil.example", True, False),
        ("127.0.0.1:8000", "http://127.0.0.1:8000.evil.example", True, False),
        ("127.0.0.1:8000", "file://127.0.0.1:8000", True, False),
        ("127.0.0.1:8000", "http://[127.0.0.1:8000", True, False),
        # Another name that leads here.
        ("evil.example:8000", "http://evil.example:8000", True, False),
        ("evil.example:8000", None, False, False),
        ("127.0.0.1.evil.example", None, False, False),
        ("[::1", None, False, False),
        ("", "http://", True, False),
    ],
)
def test_only_this_servers_own_pages_are_served_and_open_sessions(
    host: str, origin: str | None, websocket: bool, allowed: bool
) -> None:
    why = LOOPBACK.refusal(host=host, origin=origin, websocket=websocket, tokens=())
    assert (why is None) is allowed


@pytest.mark.parametrize(("tokens", "allowed"), [
    ((), False),
    (("",), False),
    (("wrong",), False),
    (("wr\udcffng", "ä"), False),
    ((TOKEN,), True),
    (("x", TOKEN), True),
])  # fmt: skip
def test_elsewhere_the_token_is_needed(tokens: tuple[str, ...], allowed: bool) -> None:
    why = ELSEWHERE.refusal(host="any.example", origin=None, websocket=False, tokens=tokens)
    assert (why is None) is allowed
    if why is not None:
        assert TOKEN not in why
        assert "token" in why
    # It opens no session for another page.
    host = "any.example:8000"
    foreign = ELSEWHERE.refusal(host=host, origin="http://evil.example", websocket=True, tokens=tokens)
    assert foreign is not None
    assert TOKEN not in repr(ELSEWHERE)


def test_what_only_this_machine_reaches_is_distinguished() -> None:
    hosts = (
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "localhost",
        "0.0.0.0",
        "::",
        "192.168.1.7",
        "localhost.example",
        "",
    )
    assert [host for host in hosts if is_loopback(host)] == list(hosts[:4])
    assert [host for host in hosts if names_of(host) is not None] == list(hosts[:4])


def test_sessions_get_all_arguments_but_those_of_the_server() -> None:
    given = f"--demo --port 9 hello --host=::1 --allow A_* --token {TOKEN} --max-cost 2 --max-tabs=3 --keep-minutes 5"
    assert passed_on(given.split()) == ["--demo", "hello", "--allow", "A_*", "--max-cost", "2"]
    assert passed_on(["--no-token", "--demo"]) == ["--demo"]


def test_wrong_options_are_refused(capsys: Output) -> None:
    for wrong in (
        "--port 70000",
        "--port x",
        "--token short",
        f"--token {'ä' * 20}",
        "--max-tabs 0",
        "--keep-minutes -1",
    ):
        with pytest.raises(SystemExit):
            read_arguments("ua-tui serve", COMMANDS["serve"], wrong.split())
        assert wrong.split()[0] in capsys.readouterr().err


def test_no_browser_makes_the_screen_too_large_or_too_small() -> None:
    assert [cells(wanted) for wanted in (-1, 0, 80, 10**9)] == [1, 1, 80, 1000]
