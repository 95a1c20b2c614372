"""The vectors of passages are made while a session runs."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.core.knowledge.stored import add, document
from tests.embeddings_server import EmbeddingsServer, embeddings_server
from tests.observers.knowledge.recorded import Recorded, database_of
from tests.waiting import run_ready, until, until_in_thread
from ua_tui.core.events.types import ErrorRaised, Event, QueryFinished, SessionFinished, SessionStarted
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.search.embeddings import Embedder
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.catch_up import catch_up, update
from ua_tui.observers.knowledge.feed import Pace, VectorFeed

PACE = Pace(wake=0.01, check=0.05, pause=0.001, retry=0.01)
START = SessionStarted(session_id="s", workspace="/", cwd="/", version="1")


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with embeddings_server() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / FILE
    store_documents(path, *(f"text {number} of rain" for number in range(40)))
    return path


class Running:
    """The feed of a running session, and what it published."""

    def __init__(self, path: Path, server: EmbeddingsServer) -> None:
        self.events: list[Event] = []
        self.feed = VectorFeed(path, Embedder(server.url, "m"), Redactor(), self.events.append, PACE)


@pytest.fixture
async def running(path: Path, server: EmbeddingsServer) -> AsyncIterator[Running]:
    running = Running(path, server)
    yield running
    running.feed.stop()


def store_documents(path: Path, *texts: str) -> None:
    with open_store(path) as store:
        add(store, "session_1", *(document(text, path=text) for text in texts))


def catch_up_with(path: Path, base: Path, redactor: Redactor) -> None:
    with open_store(path) as store:
        for _piece in catch_up(store, base, redactor):
            pass


def vectors(path: Path) -> list[bytes]:
    with closing(open_reader(path)) as db:
        return [data for (data,) in db.execute("SELECT data FROM vector ORDER BY chunk")]


async def test_missing_vectors_are_filled_in_the_newest_first(
    path: Path, running: Running, server: EmbeddingsServer
) -> None:
    running.feed.handle_event(START)
    await until_in_thread(lambda: len(vectors(path)) == 40)
    assert server.texts == [f"text {number} of rain" for number in reversed(range(40))]
    store_documents(path, "a later text")
    await until_in_thread(lambda: len(vectors(path)) == 41)
    assert server.texts[40:] == ["a later text"]
    assert running.events == []


async def test_a_failure_is_reported_once_and_tried_again(
    path: Path, running: Running, server: EmbeddingsServer
) -> None:
    server.status = 500
    running.feed.handle_event(START)
    await until(lambda: len(server.asked) > 3)
    server.status = 200
    await until_in_thread(lambda: len(vectors(path)) == 40)
    (event,) = running.events
    assert isinstance(event, ErrorRaised)
    assert "status 500" in event.message
    assert "tried again" in event.message


async def test_a_text_that_is_refused_does_not_keep_the_others(
    path: Path, running: Running, server: EmbeddingsServer
) -> None:
    server.refused = "text 33 "
    running.feed.handle_event(START)
    await until_in_thread(lambda: len(vectors(path)) == 40)
    assert [number for number, data in enumerate(vectors(path)) if not data] == [33]
    assert running.events == []


async def test_the_end_of_a_session_does_not_wait_for_an_answer(
    path: Path, running: Running, server: EmbeddingsServer
) -> None:
    server.wait = threading.Event()
    running.feed.handle_event(START)
    await until(lambda: server.asked)
    running.feed.handle_event(SessionFinished(reason="finished"))
    running.feed.handle_event(QueryFinished(query_id="q", status="success", text=""))
    server.status = 500
    server.wait.set()
    await until(lambda: "knowledge-vectors" not in {thread.name for thread in threading.enumerate()})
    await run_ready()
    assert len(server.asked) == 1
    assert running.events == []


@pytest.mark.parametrize("index", [partial(update, again=True), catch_up_with])
async def test_after_a_rebuild_or_a_catch_up_the_newest_sessions_come_first(
    tmp_path: Path, server: EmbeddingsServer, index: Callable[[Path, Path, Redactor], object]
) -> None:
    for day in (2, 1, 3):
        recorded = Recorded(tmp_path, f"session_2026030{day}_120000")
        recorded.seq = day * 10
        recorded.write_report("report", f"Day {day}.")
        recorded.answer(f"The end of day {day}.")
    path = database_of(tmp_path)
    index(path, tmp_path, Redactor())
    running = Running(path, server)
    running.feed.handle_event(START)
    await until_in_thread(lambda: len(vectors(path)) == 9)
    running.feed.stop()
    order = [text for text in server.texts if "The end of day" in text or "Day" in text]
    assert ["3" in text for text in order[:2]] == [True, True]
    assert ["1" in text for text in order[-2:]] == [True, True]
