"""`ua-tui connect`, through the real SDK, against the stand-in on loopback."""

from __future__ import annotations

import json
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.composio_server import HTML, KEY, Fault, StandIn, stand_in
from tests.e2e.added_server import own_home
from tests.tui.fixture_types import Output, Patch
from tests.waiting import wait_until
from ua_tui.tui.cli import main
from ua_tui.tui.cli.connections import connect
from ua_tui.tui.terminal.links import open_link

PATIENT = ("--timeout", "90")
"""So that a person who does not come is a failure, and no wait for ten minutes."""


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    with stand_in() as here:
        yield here


@pytest.fixture
def service(server: StandIn, tmp_path: Path, monkeypatch: Patch) -> Iterator[StandIn]:
    own_home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMPOSIO_API_KEY", KEY)
    monkeypatch.setenv("COMPOSIO_BASE_URL", server.url)
    monkeypatch.setattr(connect, "LOOK_EVERY", 0.05)
    server.requests.clear()
    server.services.connections.accounts.clear()
    yield server
    server.faults.clear()
    # Nothing is left behind at the service.
    wait_until(lambda: not server.sessions, reported=lambda: server.sessions)


@contextmanager
def person(service: StandIn, act: Callable[[Any], object]) -> Iterator[None]:
    """Do what a person does with the link, once there is one."""

    over = threading.Event()

    def wait() -> None:
        accounts = service.services.connections.accounts
        # However long the program takes to begin, and not before it has looked in vain.
        while not (accounts and service.asked("connected_accounts/")):
            if over.wait(0.02):
                return
        act(next(iter(accounts.values())))

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.slow
def test_the_link_is_printed_and_the_account_waited_for(service: StandIn, capsys: Output) -> None:
    def agree(account: Any) -> None:
        httpx.get(f"{service.url}/link/{account.link_token}", trust_env=False, timeout=60)

    with person(service, agree):
        assert main(["connect", "Gmail", *PATIENT]) == 0
    reported = capsys.readouterr()
    assert f"\n  {service.url}/link/lk_" in reported.out
    assert reported.out.endswith("Gmail is connected.\n")
    assert "\x1b" not in reported.out
    assert service.asked("connected_accounts/") > 1
    assert main(["connect", "gmail", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["event"] == "connected"


@pytest.mark.parametrize(
    ("status", "words"), [("EXPIRED", "the link has expired"), ("FAILED", "it was refused or failed")]
)
def test_a_link_that_comes_to_nothing_is_reported_with_the_remedy(
    service: StandIn, capsys: Output, status: str, words: str
) -> None:
    with person(service, lambda account: setattr(account, "status", status)):
        assert main(["connect", "gmail", *PATIENT]) == 1
    reported = capsys.readouterr().err
    assert words in reported
    assert "`ua-tui connect gmail` gives a new link" in reported


def test_a_timeout_ends_the_wait_and_json_shows_each_step(service: StandIn, capsys: Output) -> None:
    service.faults.append(Fault("connected_accounts", 503, headers={"x-should-retry": "false"}))
    assert main(["connect", "slack", "--json", "--timeout", "0.3"]) == 1
    link, failed = map(json.loads, capsys.readouterr().out.splitlines())
    assert (link["event"], link["toolkit"]) == ("link", "slack")
    assert (failed["event"], failed["status"]) == ("failed", "timeout")
    assert " failed (" in failed["message"]


def test_wrong_names_and_toolkits_without_accounts_are_reported(service: StandIn, capsys: Output) -> None:
    assert main(["connect", "gmial"]) == 2
    assert "there is no toolkit gmial: did you mean gmail?" in capsys.readouterr().err
    assert main(["connect", "nothing_like_it"]) == 2
    assert "`ua-tui connect` lists all of them" in capsys.readouterr().err
    assert main(["connect", "composio_search"]) == 0
    assert "needs no account" in capsys.readouterr().out
    assert service.services.connections.accounts == {}


def test_the_list_has_toolkits_and_their_states(service: StandIn, capsys: Output, monkeypatch: Patch) -> None:
    monkeypatch.setenv("UA_COMPOSIO_DISABLED_TOOLKITS", "slack")
    account = service.services.connections.initiate("local-user", "gmail")
    account.status = "ACTIVE"
    assert main(["connect"]) == 0
    rows = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["gmail", "composio_search", "slack"]
    assert rows[0] == ["gmail", "Gmail", "connected"]
    assert rows[2] == ["slack", "Slack", "not connected, not in sessions"]
    assert main(["connect", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(each["toolkit"], each["connected"]) for each in listed] == [
        ("gmail", True),
        ("composio_search", True),
        ("slack", False),
    ]


def test_a_missing_or_wrong_key_is_reported(service: StandIn, capsys: Output, monkeypatch: Patch) -> None:
    monkeypatch.setenv("COMPOSIO_API_KEY", "ak_wrong0123456789")
    assert main(["connect", "gmail"]) == 1
    reported = capsys.readouterr().err
    assert "rejected the key: set COMPOSIO_API_KEY to a valid key" in reported
    assert "ak_wrong" not in reported
    monkeypatch.delenv("COMPOSIO_API_KEY")
    assert main(["connect", "gmail", "--json"]) == 1
    failed = json.loads(capsys.readouterr().out)
    assert (failed["event"], failed["status"]) == ("failed", "no_key")
    assert main(["connect"]) == 1
    assert "ua-tui config set composio_api_key" in capsys.readouterr().err


@pytest.mark.parametrize("match", ["POST .*session", "toolkits", "link"])
def test_an_answer_in_html_is_a_line_of_json_too(service: StandIn, capsys: Output, match: str) -> None:
    service.faults.append(Fault(match, 200, HTML, "text/html"))
    assert main(["connect", "gmail", "--json", *PATIENT]) == 1
    reported = capsys.readouterr()
    assert reported.err == ""
    (failed,) = map(json.loads, reported.out.splitlines())
    assert (failed["event"], failed["toolkit"]) == ("failed", "gmail")
    assert "answered with a web page instead of JSON: check COMPOSIO_BASE_URL" in failed["message"]
    assert main(["connect", "gmail", *PATIENT]) == 1
    assert "a web page instead of JSON" in capsys.readouterr().err


@pytest.mark.parametrize(("url", "opened"), [
    ("https://a.example/link", True),
    ("http://127.0.0.1:8080/link", True),
    ("http://a.example/link", False),
    ("file://localhost/etc/passwd", False),
    ("https://user@a.example/", False),
])  # fmt: skip
async def test_only_links_for_a_browser_are_opened(url: str, opened: bool, monkeypatch: Patch) -> None:
    given: list[str] = []
    monkeypatch.setenv("BROWSER", "some-browser")
    monkeypatch.setattr(webbrowser, "open", given.append)
    await open_link(url)
    assert given == ([url] if opened else [])
