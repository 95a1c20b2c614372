from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest

from tests.core.cases import cases_of
from tests.model_server import Answer, model_server, refusal
from tests.waiting import PATIENCE
from ua_tui.core.errors import advice_catalogue
from ua_tui.core.provider.probe import ModelVerdict, check_model
from ua_tui.core.settings.model import Settings

CASES = cases_of(__file__)

MODEL_PROBLEMS = [code.partition(".")[2] for code in advice_catalogue() if code.startswith("model.")]
KEY = "sk-ant-api03-canary-9f8e7d6c5b4a"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


async def checked(
    url: str, key: str | None = KEY, model: str | None = "m1", deadline: float = PATIENCE
) -> ModelVerdict:
    return await check_model(Settings(base_url=url, api_key=key, model=model), deadline=deadline, environ={})


async def test_one_request_for_one_token_is_made_with_the_key_and_the_model() -> None:
    with model_server() as server:
        verdict = await checked(server.url)
    assert verdict.kind == "ok"
    assert verdict.works
    ((headers, body),) = server.messages
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert body["model"] == "m1"
    assert body["max_tokens"] == 1
    assert len(server.asked) == 1
    assert server.url in verdict.message
    assert "m1" in verdict.message


async def test_a_token_goes_as_a_bearer_and_a_server_without_one_gets_what_the_agent_sends() -> None:
    with model_server() as server:
        await check_model(Settings(base_url=server.url, auth_token="tok-12345678"), environ={})
        await check_model(Settings(base_url=server.url), environ={})
    (with_token, _), (without, body) = server.messages
    assert with_token["authorization"] == "Bearer tok-12345678"
    assert "x-api-key" not in with_token
    assert without["x-api-key"] == "none"
    assert "authorization" not in without
    assert body["model"]


ANSWERS = [*CASES["every_answer_is_reported_and_advised"], ((200, "[" * 200_000), "not_an_api", "not JSON")]


@pytest.mark.parametrize(
    ("answer", "kind", "reported"), ANSWERS, ids=[f"{a[0]}-{k}-{t}" for a, k, t in ANSWERS]
)
async def test_every_answer_is_reported_and_advised(answer: Any, kind: str, reported: str) -> None:
    with model_server(Answer(*answer)) as server:
        verdict = await checked(server.url)
    assert verdict.kind == kind
    assert verdict.status == answer[0]
    assert reported in f"{verdict.message} {verdict.advice}"
    assert verdict.advice
    assert verdict.works == (kind == "limited")
    assert verdict.away == (kind in ("overloaded", "server_error"))
    assert KEY not in verdict.message


async def test_the_models_of_a_server_are_named_when_it_does_not_know_the_wanted_one() -> None:
    unknown = Answer(404, refusal("not_found_error", "model 'm1' not found"))
    for listed in (
        {"data": [{"id": "llama4"}, {"id": "qwen4\x1b[31m"}, 7]},
        {"models": [{"name": "llama4"}, {"name": "qwen4"}]},
    ):
        with model_server(unknown, Answer(200, listed)) as server:
            verdict = await checked(server.url)
        assert len(verdict.models) == 2
        assert "llama4" in verdict.advice
        assert "\x1b" not in verdict.advice
    for none in (Answer(500, "x"), Answer(200, "<html>"), Answer(200, {"data": 7}), None):
        with model_server(unknown, none) as server:
            verdict = await checked(server.url)
        assert (verdict.kind, verdict.models) == ("unknown_model", ())
        assert verdict.advice


async def test_what_a_server_says_shows_no_key_and_steers_no_terminal() -> None:
    detail = refusal("authentication_error", f"the key {KEY} is \x1b]0;bad\x07 wrong " + "x" * 5000)
    with model_server(Answer(401, detail)) as server:
        verdict = await checked(server.url)
    assert KEY not in repr(verdict)
    assert "\x1b" not in verdict.message
    assert len(verdict.message) < 500
    # Nor does the address show its password; a server without a key that wants one says so.
    with model_server(Answer(401, refusal("authentication_error", "no"))) as server:
        verdict = await checked(server.url.replace("://", "://ann:hunter2hunter2@"))
        without = await checked(server.url, key=None)
    assert verdict.kind == "refused"
    assert "hunter2" not in repr(verdict)
    assert "requires a key" in without.message
    assert "Enter the token" in without.advice


async def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as taken:
        # Nobody else gets it meanwhile.
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            verdict = await checked(f"http://{host}:{port}")
            assert (verdict.kind, verdict.away) == ("not_listening", True)
            assert verdict.message == f"Nothing is listening at http://{host}:{port} (connection refused)."
            assert "port" in verdict.advice


@pytest.mark.parametrize(
    ("number", "detail", "reported"),
    [
        (socket.EAI_NONAME, "Name or service not known", ""),
        (socket.EAI_AGAIN, "Temporary failure", ": Temporary failure"),
    ],
)  # fmt: skip
async def test_unknown_host(monkeypatch: pytest.MonkeyPatch, number: int, detail: str, reported: str) -> None:
    def unknown(*_args: object, **_more: object) -> object:
        raise socket.gaierror(number, detail)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    verdict = await checked("http://models.invalid")
    assert (verdict.kind, verdict.away) == ("no_host", True)
    assert verdict.message == f"The host name of http://models.invalid cannot be resolved{reported}."


async def test_what_answers_late_or_as_no_model_does_is_named() -> None:
    with model_server() as server:
        verdict = await checked(server.url.replace("http://", "https://"))
    assert (verdict.kind, verdict.away) == ("tls", True)
    assert "http://" in verdict.advice
    wait = threading.Event()
    with model_server(Answer(wait=wait)) as server:
        verdict = await checked(server.url, deadline=0.3)
        wait.set()
    assert (verdict.kind, verdict.away) == ("timeout", True)
    assert "did not answer" in verdict.message
    for words, reads in ((b"SSH-2.0-OpenSSH_9.7\r\n", True), (b"", True), (b"", False)):
        with speaking(words, reads=reads) as url:
            verdict = await checked(url)
        assert verdict.kind == "not_an_api"
    assert "it closed the connection without an answer" in verdict.message


@contextmanager
def speaking(words: bytes, *, reads: bool = True) -> Iterator[str]:
    """A server that says something whatever it is asked; what it does not read makes its end an abrupt one."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            asked = connection.recv(4096 if reads else 1)
            while reads and not asked.endswith(b"}"):
                asked += connection.recv(4096)
            connection.sendall(words)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


async def test_a_key_that_cannot_be_sent_is_not_repeated() -> None:
    with model_server() as server:
        for key in ("schlüssel-mit-umlaut", "line\nbreak-in-a-key"):
            verdict = await checked(server.url, key=key)
            assert verdict.kind == "malformed"
            assert key not in repr(verdict)
            assert "schl" not in verdict.message
    assert server.asked == []


async def test_nothing_to_ask_and_a_slow_answer_are_reported() -> None:
    verdict = await check_model(Settings(), environ={})
    assert (verdict.kind, verdict.works, verdict.away) == ("nothing_set", False, False)
    slow = ModelVerdict(kind="ok", server="s", model="m", seconds=12.3)
    assert "12.3 s" in slow.message
    assert "slow" in slow.advice
    assert not ModelVerdict(kind="ok", server="s", model="m", seconds=0.3).advice


def test_every_verdict_is_a_whole_sentence() -> None:
    verb = " (is|answered|accepts|can|cannot|closed|did|does|gave|refused|rejected|requires) "
    for kind, status, detail in product(
        ("ok", *MODEL_PROBLEMS), (None, 404), ("", "words of it", "Words of it.")
    ):
        made = ModelVerdict(kind=kind, server="http://a", model="m", status=status, detail=detail, seconds=1)
        for sentence in (made.message, made.advice):
            assert re.fullmatch(r"(\S.*[^.]\.)?", sentence)
            assert "{" not in sentence
            assert "None" not in sentence
        assert re.search(verb, made.message)
        assert (made.advice == "") == (kind == "ok")
